import { homedir } from 'node:os';
import { expect, test } from 'vitest';
import { placesFrom } from '../../src/daemon/index.ts';

test('everything is under the home directory unless told otherwise', () => {
  expect(placesFrom({ HOME: '/home/ada' })).toEqual({
    home: '/home/ada',
    configFile: '/home/ada/.config/polypod/config.yaml',
    modelsFile: '/home/ada/.config/polypod/models.json',
    refreshedModelsFile: '/home/ada/.cache/polypod/models.json',
    dataDirectory: '/home/ada/.local/share/polypod',
    cacheDirectory: '/home/ada/.cache/polypod',
  });
});

test('the XDG variables move the directories', () => {
  const env = { HOME: '/home/ada', XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', XDG_CACHE_HOME: '/e' };
  expect(placesFrom(env)).toEqual({
    home: '/home/ada',
    configFile: '/c/polypod/config.yaml',
    modelsFile: '/c/polypod/models.json',
    refreshedModelsFile: '/e/polypod/models.json',
    dataDirectory: '/d/polypod',
    cacheDirectory: '/e/polypod',
  });
});

test('a relative XDG path is ignored, as the specification has it, and so is an empty one', () => {
  const env = { HOME: '/home/ada', XDG_CONFIG_HOME: 'c', XDG_DATA_HOME: '', XDG_CACHE_HOME: './e' };
  expect(placesFrom(env)).toEqual(placesFrom({ HOME: '/home/ada' }));
});

test('POLYPOD_CONFIG names another file, and the models are beside it', () => {
  const { configFile, modelsFile } = placesFrom({ HOME: '/home/ada', POLYPOD_CONFIG: '/etc/pod.yaml' });
  expect({ configFile, modelsFile }).toEqual({ configFile: '/etc/pod.yaml', modelsFile: '/etc/models.json' });
});

test('without HOME the home directory is the one of the account', () => {
  expect(placesFrom({}).home).toBe(homedir());
});
