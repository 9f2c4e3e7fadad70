import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The files that a browser loads without a key: they are the same for everyone and contain no data of this agent. */
const PAGES: Readonly<Record<string, string>> = {
  '/reference': 'reference/index.html',
  '/reference/reference.css': 'reference/reference.css',
  '/reference/reference.js': 'reference/reference.js',
};

/** Only files and data of this agent, no inline code, and no other page around it. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Whether a request is for one of the pages. */
export function isPageRequest({ is404, routeOptions }: FastifyRequest): boolean {
  return !is404 && Object.hasOwn(PAGES, routeOptions.url ?? '');
}

/** Adds the pages. Each is a route of its own: no path of a client reaches the file system. */
export async function addPages(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, { root: pageDirectory(), serve: false, cacheControl: false });
  for (const [url, file] of Object.entries(PAGES))
    app.get(url, (_, reply) => reply.headers(PAGE_HEADERS).sendFile(file));
}

/** The directory `web` of the package, above this file wherever it is bundled to. */
function pageDirectory(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'web/reference/index.html')) && directory !== dirname(directory))
    directory = dirname(directory);
  return join(directory, 'web');
}
