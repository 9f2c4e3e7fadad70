import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import type { Script } from '../../../src/sim/index.ts';
import { type CliFixture, cliFixture } from '../daemon.ts';
import { MAIN } from '../polypod.ts';

type CallOptions = Parameters<Client['callTool']>[1];
/** A result of a tool, as tests read it. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Result = any;

export interface McpHost {
  readonly client: Client;
  readonly pid: () => number | null;
  /** Calls a tool and returns its structured result. */
  readonly call: (name: string, args?: object, options?: CallOptions) => Promise<Result>;
  /** Calls a tool that must fail, and returns the message. */
  readonly refused: (name: string, args?: object) => Promise<string>;
}

export interface McpFixture extends CliFixture {
  /** Starts the server as an MCP host does: with the official client, in the project. */
  readonly host: (args?: readonly string[], options?: HostOptions) => Promise<McpHost>;
}

export interface HostOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The revision of the protocol (default: the last one with a handshake). */
  readonly revision?: '2026-07-28';
}

export async function mcpFixture(script: Script = []): Promise<McpFixture> {
  const fixture = await cliFixture(script);
  const host = async (args: readonly string[] = [], options: HostOptions = {}): Promise<McpHost> => {
    const { cwd = fixture.project, env = {}, revision } = options;
    const client = new Client(
      { name: 'test-host', version: '1.0.0' },
      revision === undefined ? {} : { versionNegotiation: { mode: { pin: revision } } },
    );
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, 'mcp', 'serve', ...args],
      cwd,
      env: { PATH: process.env.PATH ?? '', OLLAMA_HOST: 'http://127.0.0.1:9', ...fixture.env, ...env },
      stderr: 'pipe',
    });
    onTestFinished(() => client.close());
    await client.connect(transport);
    return {
      client,
      pid: () => transport.pid,
      call: async (name, given = {}, callOptions) => {
        const result = await client.callTool({ name, arguments: { ...given } }, callOptions);
        if (result.isError === true) throw new Error(textOf(result));
        return result.structuredContent;
      },
      refused: async (name, given = {}) => {
        const result = await client.callTool({ name, arguments: { ...given } });
        if (result.isError !== true) throw new Error(`${name} succeeded: ${textOf(result)}`);
        return textOf(result);
      },
    };
  };
  return { ...fixture, host };
}

function textOf({ content }: { readonly content: readonly { readonly type: string }[] }): string {
  return content.map((block) => ('text' in block ? String(block.text) : '')).join('');
}
