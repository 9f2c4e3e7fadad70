/** The available models, and the choice of one. */
export { COMMAND_MODEL } from './command-model.ts';
export { ModelAccess } from './model-access.ts';
export type { ListedModel, ModelAccessOptions, ReadyModel } from './ready-model.ts';
export { type KnownModels, readModels } from './model-files.ts';
export type { OfferedModelsOptions } from './offered-models.ts';
