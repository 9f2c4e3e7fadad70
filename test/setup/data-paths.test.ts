import { homedir } from 'node:os';
import { expect, test } from 'vitest';
import { controlSocket, dataPathsFrom } from '../../src/setup/index.ts';

test('all paths are below the home directory by default', () => {
  expect(dataPathsFrom({ HOME: '/home/ada' })).toEqual({
    home: '/home/ada',
    configFile: '/home/ada/.config/polypod/config.yaml',
    modelsFile: '/home/ada/.config/polypod/models.json',
    rulesFile: '/home/ada/.config/polypod/rules.json',
    refreshedModelsFile: '/home/ada/.cache/polypod/models.json',
    dataDirectory: '/home/ada/.local/share/polypod',
    cacheDirectory: '/home/ada/.cache/polypod',
    runtimeDirectory: '/home/ada/.local/share/polypod/run',
  });
});

test('the XDG variables move the directories', () => {
  const env = { HOME: '/home/ada', XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', XDG_CACHE_HOME: '/e' };
  expect(dataPathsFrom(env)).toEqual({
    home: '/home/ada',
    configFile: '/c/polypod/config.yaml',
    modelsFile: '/c/polypod/models.json',
    rulesFile: '/c/polypod/rules.json',
    refreshedModelsFile: '/e/polypod/models.json',
    dataDirectory: '/d/polypod',
    cacheDirectory: '/e/polypod',
    runtimeDirectory: '/d/polypod/run',
  });
});

test('relative and empty XDG paths are ignored, as the specification requires', () => {
  const env = { HOME: '/home/ada', XDG_CONFIG_HOME: 'c', XDG_DATA_HOME: '', XDG_CACHE_HOME: './e' };
  expect(dataPathsFrom(env)).toEqual(dataPathsFrom({ HOME: '/home/ada' }));
});

test('POLYPOD_CONFIG sets the configuration file, and the models file is beside it', () => {
  const { configFile, modelsFile } = dataPathsFrom({ HOME: '/home/ada', POLYPOD_CONFIG: '/etc/pod.yaml' });
  expect({ configFile, modelsFile }).toEqual({ configFile: '/etc/pod.yaml', modelsFile: '/etc/models.json' });
});

test('POLYPOD_DATA_DIR sets the data directory, and an argument overrides it', () => {
  const env = { HOME: '/home/ada', POLYPOD_DATA_DIR: '/srv/pods' };
  expect(dataPathsFrom(env).dataDirectory).toBe('/srv/pods');
  expect(dataPathsFrom(env, { dataDirectory: '/tmp/x' }).dataDirectory).toBe('/tmp/x');
  expect(dataPathsFrom(env, { dataDirectory: undefined }).dataDirectory).toBe('/srv/pods');
});

test('sockets are in the system’s runtime directory, separate for every data directory', () => {
  const env = { HOME: '/home/ada', XDG_RUNTIME_DIR: '/run/user/1' };
  const usual = dataPathsFrom(env);
  expect(usual.runtimeDirectory).toBe('/run/user/1/polypod');
  const [one, other] = ['/a', '/b'].map(
    (dataDirectory) => dataPathsFrom(env, { dataDirectory }).runtimeDirectory,
  );
  expect(one).toMatch(/^\/run\/user\/1\/polypod-[0-9a-f]{12}$/);
  expect(other).not.toBe(one);
  expect(dataPathsFrom({ ...env, POLYPOD_RUNTIME_DIR: '/r' }).runtimeDirectory).toBe('/r');
  expect(controlSocket(usual)).toBe('/run/user/1/polypod/daemon.sock');
});

test('without HOME, the home directory is that of the account', () => {
  expect(dataPathsFrom({}).home).toBe(homedir());
});
