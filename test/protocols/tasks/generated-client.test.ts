import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';
import { onTestFinished, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from './document.ts';
import { type Client, tasksFixture, textAnswer } from './fixture.ts';

const exec = promisify(execFile);
const GENERATOR = resolve('scripts/openapi-generator/node_modules/openapi-typescript/bin/cli.js');
const COMPILER = resolve('node_modules/typescript/bin/tsc');

/** A program that uses the generated types through openapi-fetch. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.ts';

const [baseUrl = '', key = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } });
type Submitted = paths['/submit_task']['post']['requestBody']['content']['application/json'];
const context: NonNullable<Submitted['context']> = { maxTurns: 3, backend: 'polypod' };
const backend: string | undefined = context.backend;
const submitted = await client.POST('/submit_task', {
  body: { sessionId: \`s-\${backend}\`, userPrompt: 'Say hello.', taskType: 'chat', context },
  params: { header: { 'Idempotency-Key': 'one' } },
});
const taskId: string = submitted.data?.taskId ?? '';
let task: components['schemas']['TaskStatus'] | undefined;
do {
  task = (await client.GET('/tasks/{taskId}/status', { params: { path: { taskId } } })).data;
} while (task?.status !== 'completed' && task?.status !== 'failed');
const listed = await client.GET('/tasks', { params: { query: { status: 'completed', limit: 1 } } });
const refused = await client.POST('/approvals/{approvalId}/decide', {
  params: { path: { approvalId: 'none' } },
  body: { decision: 'approve' },
});
console.log(JSON.stringify([task.result, listed.data?.tasks.length, refused.error?.error.code]));
`;

interface Project {
  readonly directory: string;
  readonly compile: (name: string, program: string) => Promise<string>;
}

/** A TypeScript project with the types that openapi-typescript generates from the agent's document. */
async function generatedProject(client: Client): Promise<Project> {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-client-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  const { body } = await client.get<OpenApiDocument>('/openapi.json');
  writeFileSync(join(directory, 'openapi.json'), JSON.stringify(body));
  await exec(process.execPath, [GENERATOR, 'openapi.json', '-o', 'schema.ts'], { cwd: directory });
  const options = [
    ...['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck'],
    ...['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom', '--types', 'node'],
    ...['--rewriteRelativeImportExtensions', '--outDir', 'out'],
  ];
  return {
    directory,
    compile: async (name, program) => {
      writeFileSync(join(directory, `${name}.ts`), program);
      const compiled = exec(process.execPath, [COMPILER, ...options, `${name}.ts`], { cwd: directory });
      return compiled.then(
        () => '',
        (failed: { stdout: string }) => failed.stdout,
      );
    },
  };
}

describe('the OpenAPI document', () => {
  it('is valid for a third-party validator of OpenAPI 3.1', async () => {
    const { client } = await tasksFixture([]);
    const { body } = await client().get<OpenApiDocument>('/openapi.json');
    const validator = new Validator();
    expect(await validator.validate(structuredClone(body))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    const { responses: _, ...operation } = Object.values(Object.values(body.paths)[0] ?? {})[0] ?? {};
    const broken = { ...structuredClone(body), paths: { '/x': { get: { ...operation, security: 5 } } } };
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
  });

  it('generates a client with openapi-typescript that compiles and works', async () => {
    const { client, door, key } = await tasksFixture([textAnswer('Hello.')]);
    const { directory, compile } = await generatedProject(client());
    expect(await compile('program', PROGRAM)).toBe('');
    const { stdout } = await exec(process.execPath, ['out/program.js', door().url, key()], {
      cwd: directory,
    });
    expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ text: 'Hello.' }), 1, 'not_found']);
    // The types are real: a wrong program does not compile.
    const wrong = PROGRAM.replace("taskType: 'chat'", "taskType: 'chats'").replace('limit: 1', "limit: '1'");
    const errors = await compile('wrong', wrong);
    expect(errors).toContain(`'"chats"' is not assignable`);
    expect(errors).toContain(`Type 'string' is not assignable to type 'number'`);
  });
});
