import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import {
  type ConnectOptions,
  type Content,
  DEFAULT_RETRY,
  type ErrorEvent,
  type LlmEvent,
  type LlmRequest,
  modelReference,
  retryDelay,
  shortfallOf,
  THINKING_LEVELS,
} from '../../llm/index.ts';
import { AnswerPrinter, JsonPrinter, type Printer } from '../output/answer-printer.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';
import { type ReadyModel, readyModel } from '../args/model-choice.ts';
import { MODEL } from '../args/model-option.ts';
import { explainFailure, failureExitCode } from '../output/explain-failure.ts';
import { promptFrom } from '../args/prompt-text.ts';
import { secretsIn } from '../secrets.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** `polypod ask`: one question, one answer. */
export const ask = runnable({
  name: 'ask',
  summary: 'Send one prompt to a model and stream the answer.',
  usage: '[OPTIONS] PROMPT…',
  options: {
    ...MODEL,
    system: { type: 'text', short: 's', value: 'TEXT', help: 'the system prompt' },
    image: { type: 'texts', short: 'i', value: 'FILE', help: 'an image to attach; can be repeated' },
    thinking: { type: 'choice', choices: THINKING_LEVELS, help: 'the thinking level' },
    'max-tokens': { type: 'number', value: 'N', min: 1, help: 'the maximum length of the answer, in tokens' },
    temperature: { type: 'number', value: 'T', min: 0, max: 2, help: 'the sampling temperature' },
    offline: { type: 'flag', help: 'use the built-in simulated model' },
    record: {
      type: 'text',
      value: 'DIR',
      help: 'write every exchange to DIR as a cassette, without secrets',
    },
    replay: { type: 'text', value: 'DIR', help: 'answer from the cassettes in DIR, without network access' },
    json: { type: 'flag', help: 'print the event stream, one JSON object per line' },
    quiet: { type: 'flag', short: 'q', help: 'print only the answer: no reasoning, notices or statistics' },
  },
  details: `
The prompt is read from stdin if it is - or missing. Without --model, Polypod selects the first available provider:
one whose key is in the environment or the configuration, then Ollama on this machine, then the built-in simulated
model. The answer is written to stdout, everything else to stderr. A terminal shows the answer as it arrives, and control
characters are replaced with visible symbols (␛), so that an answer cannot control the terminal. A pipe receives the
answer byte for byte when it is completed, and nothing of an answer that was cut. --json streams to both.

Exit codes: 0 answered, 2 usage or configuration error (including a key or a model that the provider rejects),
3 provider or network error, 4 the model did not complete its answer (refusal, content filter, token limit, full
context, no text), 130 interrupted.

Examples:
  polypod ask "Why is the sky blue?"
  polypod ask -m groq/llama-3.3-70b-versatile "One haiku, please"
  git diff | polypod ask -s "You review code." -`,
  async run({ values, positionals }, context) {
    const text = await promptFrom(positionals, context.stdin, 'polypod ask "Why is the sky blue?"');
    const content: readonly Content[] = [
      { type: 'text', text },
      ...(await Promise.all(values.image.map(imageOf))),
    ];
    const transport = await transportFor(values.record, values.replay, context);
    const selection = {
      reference: values.model,
      offline: values.offline,
      replaying: values.replay !== undefined,
    };
    const ready = await readyModel(selection, context, transport.options);
    const printer = values.json ? new JsonPrinter(context.stdout) : new AnswerPrinter(context, values.quiet);
    try {
      if (!values.quiet)
        for (const notice of ready.notices) context.stderr.write(`polypod: ${sanitizeLine(notice)}\n`);
      const { maxOutput } = ready.model;
      const maxTokens = values['max-tokens'] ?? maxOutput;
      const request: LlmRequest = {
        model: ready.model.id,
        items: [{ type: 'message', role: 'user', content }],
        ...withoutUndefined({
          system: values.system,
          thinking: values.thinking,
          maxTokens,
          temperature: values.temperature,
        }),
      };
      return await answer(ready, request, printer, context);
    } finally {
      await transport.finish();
      await ready.close();
    }
  },
});

/** Sends the request, and retries it as the retry policy allows. */
async function answer(
  ready: ReadyModel,
  request: LlmRequest,
  printer: Printer,
  context: CommandContext,
): Promise<ExitCode> {
  let waitedMs = 0;
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(ready, request, printer, context.signal);
    if (outcome.error === undefined) return exitCodeOf(outcome);
    const { error: failure } = outcome;
    const answerBegan = outcome.answerBegan && printer.isStreaming;
    const delayMs = retryDelay(DEFAULT_RETRY, {
      failure,
      attempts,
      waitedMs,
      answerBegan,
      random: Math.random(),
    });
    if (delayMs === undefined) {
      context.stderr.write(
        `polypod ask: ${explainFailure(failure, ready.llm.account, modelReference(ready.model))}\n`,
      );
      return failureExitCode(failure);
    }
    printer.retry({ type: 'retry', attempt: attempts + 1, delayMs, failure });
    waitedMs += delayMs;
    await sleep(delayMs, undefined, { signal: context.signal }).catch(() => {});
    if (context.signal.aborted) return EXIT.interrupted;
  }
}

interface Outcome {
  readonly last: LlmEvent | undefined;
  readonly error: ErrorEvent | undefined;
  readonly answerBegan: boolean;
  readonly hasText: boolean;
}

async function attempt(
  { llm, model }: ReadyModel,
  request: LlmRequest,
  printer: Printer,
  signal: AbortSignal,
): Promise<Outcome> {
  let error: ErrorEvent | undefined;
  let answerBegan = false;
  let hasText = false;
  let last: LlmEvent | undefined;
  for await (const batch of llm.batches(request, signal)) {
    for (const event of batch) {
      if (event.type === 'error') error = event;
      if (event.type === 'block-start') answerBegan = true;
      if (event.type === 'block-delta' && event.delta.type === 'text')
        hasText ||= event.delta.text.trim() !== '';
      last = event;
    }
    await printer.print(batch, model);
  }
  return { last, error, answerBegan, hasText };
}

function exitCodeOf({ last, hasText }: Outcome): ExitCode {
  if (last?.type !== 'status' || last.status !== 'completed') return EXIT.interrupted;
  return shortfallOf(last.stopReason, hasText) === undefined ? EXIT.ok : EXIT.incomplete;
}

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

async function imageOf(file: string): Promise<Content> {
  const mediaType = IMAGE_TYPES[extname(file).toLowerCase()];
  if (mediaType === undefined) {
    throw new PolypodError(
      'bad-request',
      `${file} is not an image that models read: use png, jpg, gif or webp`,
    );
  }
  try {
    return { type: 'image', mediaType, data: (await readFile(file)).toString('base64') };
  } catch (thrown) {
    throw new PolypodError('not-found', `cannot read the image: ${messageOf(thrown)}`, { cause: thrown });
  }
}

interface Recorder {
  readonly options: ConnectOptions;
  readonly finish: () => Promise<void>;
}

async function transportFor(
  record: string | undefined,
  replay: string | undefined,
  { env }: CommandContext,
): Promise<Recorder> {
  if (record !== undefined && replay !== undefined) {
    throw new PolypodError('bad-request', '--record and --replay exclude each other');
  }
  if (record === undefined && replay === undefined) return { options: {}, finish: async () => {} };
  const { recordingTransport, replayTransport } = await import('../../sim/index.ts');
  if (replay !== undefined) {
    return {
      options: { transport: replayTransport({ directory: replay, timing: 'recorded' }) },
      finish: async () => {},
    };
  }
  const { transportFrom } = await import('../../wire/index.ts');
  const transport = recordingTransport(transportFrom(env), {
    directory: record ?? '',
    secrets: secretsIn(env),
  });
  return { options: { transport }, finish: () => transport.settled() };
}
