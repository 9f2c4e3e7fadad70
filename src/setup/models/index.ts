/** Which models there are here, and which one answers. */
export { COMMAND_MODEL } from './command-model.ts';
export { ModelAccess, type ModelAccessOptions, type ReadyModel } from './model-access.ts';
export { type KnownModels, readModels } from './model-files.ts';
export type { OfferOptions } from './offered-models.ts';
export { offeredModel, offeredModels, refuseUnknownProvider } from './offered-models.ts';
