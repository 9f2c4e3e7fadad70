/** What a Polypod on this machine is made of: where its files are, and what the user configured. */
export { type Config, type LoadedConfig, readConfig } from './config.ts';
export { type KnownModels, readModels } from './model-files.ts';
export { type Places, placesFrom } from './places.ts';
