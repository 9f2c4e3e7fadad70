/** The available models, and the choice of one. */
export { COMMAND_MODEL } from './command-model.ts';
export { type ListedModel, ModelAccess, type ModelAccessOptions, type ReadyModel } from './model-access.ts';
export { type KnownModels, readModels } from './model-files.ts';
export type { OfferedModelsOptions } from './offered-models.ts';
export { offeredModel, offeredModels, refuseUnknownProvider } from './offered-models.ts';
