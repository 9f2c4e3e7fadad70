import { shape } from '../base/index.ts';
import { formatNumber, oneLine } from './text/shorten.ts';
import { defineTool, errorOutput, type Tool, type ToolOutput, textOutput } from './tool.ts';
import { addressProblem, getPage, hostOf, type PageResult } from './web/get-page.ts';
import { htmlText } from './web/html-text.ts';
import type { WebTransport } from './web/web-transport.ts';

const input = shape.fields(
  {
    url: shape.withDescription(
      shape.text('an http or https address', (text) => URL.canParse(text) && !addressProblem(new URL(text))),
      'The complete address, with http:// or https://.',
    ),
  },
  {
    offset: shape.withDescription(
      shape.integerFrom(0),
      'How many characters of the text to skip, to read on after a part.',
    ),
  },
);

/** How much of a page the model gets at once. */
const MAX_CHARACTERS = 30_000;

/** Creates the tool that gets web pages as text. */
export function webFetchTool(options: {
  /** Hosts that may have private addresses. */
  readonly privateHosts: () => readonly string[];
  /** The transport for an address that is reached through a proxy. */
  readonly proxied?: (url: string) => WebTransport | undefined;
}): Tool {
  return defineTool({
    name: 'web_fetch',
    description:
      'Gets a web page or another text by its address. HTML becomes plain text. Redirects to other hosts are reported, not followed: call it again with the new address. Addresses of this machine and of private networks are rejected.',
    input,
    parallel: true,
    access: ({ url }) => [{ type: 'web', host: hostOf(new URL(url)) }],
    title: ({ url }) => `fetch ${oneLine(url)}`,
    run: async ({ url, offset = 0 }, _, signal) => {
      const mayBePrivate = (host: string): boolean => options.privateHosts().includes(host);
      const { proxied = () => undefined } = options;
      return toOutput(url, await getPage({ url: new URL(url), mayBePrivate, proxied, signal }), offset);
    },
  });
}

function toOutput(asked: string, page: PageResult, offset: number): ToolOutput {
  if ('problem' in page) return errorOutput(`Cannot get ${asked}: ${page.problem}.`);
  if ('redirectedTo' in page)
    return errorOutput(
      `${asked} redirects to another host: ${page.redirectedTo.href}. Call web_fetch with this address if you need it.`,
    );
  const { status, contentType, bytes, isCut } = page;
  const kind = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!isTextKind(kind)) return errorOutput(`${asked} is not text, but ${kind}. Polypod gets only text.`);
  const content = decoded(bytes, contentType);
  const whole = kind.includes('html') ? htmlText(content) : content;
  const part = whole.slice(offset, offset + MAX_CHARACTERS);
  const end = offset + part.length;
  const notes =
    end < whole.length
      ? [`[${formatNumber(whole.length - end)} more characters: call again with offset ${end}]`]
      : isCut
        ? ['[the page is longer, but only its first 4 MB are read]']
        : [];
  const text = [`${page.url.href} (HTTP ${status})`, part, ...notes].join('\n\n');
  return status >= 400
    ? errorOutput(text)
    : textOutput(`fetched ${oneLine(asked)}`, text, { status, url: page.url.href });
}

function isTextKind(kind: string): boolean {
  return kind === '' || /^text\/|[/+](?:json|xml|javascript|yaml|x-ndjson)$/.test(kind);
}

function decoded(bytes: Buffer, contentType: string): string {
  const [, charset = 'utf-8'] = /charset="?([\w-]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    // An unknown character set.
    return new TextDecoder().decode(bytes);
  }
}
