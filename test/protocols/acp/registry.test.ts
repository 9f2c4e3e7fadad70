import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { arrayOf, objectOf, parseObject, stringOf } from '../../../src/base/index.ts';
import { start, temporaryDirectory } from '../../cli/polypod.ts';

/** The rules of the ACP registry (agentclientprotocol/registry: agent.schema.json, build_registry.py, client.py). */
const DIRECTORY = 'registry/polypod';
const FIELDS = [
  'id',
  'name',
  'version',
  'description',
  'repository',
  'website',
  'authors',
  'license',
  'license_url',
  'distribution',
];

const readText = (path: string): string => readFileSync(path, 'utf8');
const manifest = parseObject(readText(`${DIRECTORY}/agent.json`)) ?? {};
const { distribution } = manifest;
const npx = objectOf(objectOf(distribution).npx);

describe('the manifest for the ACP registry', () => {
  it('has the required fields, and no field that the registry does not know', () => {
    expect(stringOf(manifest.id)).toMatch(/^[a-z][a-z0-9-]*$/);
    expect(DIRECTORY.endsWith(`/${stringOf(manifest.id)}`)).toBe(true);
    expect(stringOf(manifest.name)).not.toBe('');
    expect(stringOf(manifest.description)).not.toBe('');
    expect(Object.keys(manifest).filter((key) => !FIELDS.includes(key))).toEqual([]);
  });

  it('has the version and the license of the package, and pins the package to that version', () => {
    const { name, version, license, bin } = parseObject(readText('package.json')) ?? {};
    expect(stringOf(manifest.version)).toMatch(/^\d+\.\d+\.\d+$/);
    expect(manifest).toMatchObject({ version, license });
    expect(Object.keys(objectOf(distribution))).toEqual(['npx']);
    expect(npx.package).toBe(`${stringOf(name)}@${stringOf(version)}`);
    // npx runs the only program of a package.
    expect(Object.keys(objectOf(bin))).toEqual(['polypod']);
  });

  it('has an icon of 16 by 16 pixels in the color of the text', () => {
    const icon = readText(`${DIRECTORY}/icon.svg`);
    expect(icon).toMatch(/^<svg [^>]*\bwidth="16" height="16" viewBox="0 0 16 16"/);
    const colors = [...icon.matchAll(/\b(?:fill|stroke)\s*[=:]\s*"?([^";\s>]+)/g)].map(([, color]) => color);
    expect(new Set(colors)).toEqual(new Set(['none', 'currentColor']));
    // Comments would break the pages in which the registry embeds icons.
    expect(icon).not.toMatch(/<!--|<style|style=/);
  });

  it('passes the check of the registry: with an empty home, the first line is the response, with a way to sign in', async () => {
    const program = start(arrayOf(npx.args).map(stringOf), { HOME: temporaryDirectory(), TERM: 'dumb' });
    const params = {
      protocolVersion: 1,
      clientInfo: { name: 'ACP Registry Validator', version: '1.0.0' },
      clientCapabilities: {
        terminal: true,
        fs: { readTextFile: true, writeTextFile: true },
        _meta: { terminal_output: true, 'terminal-auth': true },
      },
    };
    program.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await program.waitForOutput('"id":1');
    const [line = ''] = program.output().stdout.split('\n');
    const response = parseObject(line) ?? {};
    expect(response).toMatchObject({ jsonrpc: '2.0', id: 1, result: { protocolVersion: 1 } });
    const methods = arrayOf(objectOf(response.result).authMethods).map(objectOf);
    expect(methods.map(({ type }) => type ?? 'agent')).toContainEqual(
      expect.stringMatching(/^(?:agent|terminal)$/),
    );
    program.child.stdin.end();
    expect(await program.finished).toMatchObject({ code: 0, stdout: `${line}\n` });
  });
});
