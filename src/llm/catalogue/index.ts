/** Which models there are, what they cost, and through which account they are reached. */
export { accountsFrom, type ConfiguredAccount, type KeySource, ollamaAccount } from './accounts.ts';
export {
  type InputKind,
  type Model,
  type ModelEntry,
  mergeModels,
  type Price,
  type Rates,
  referenceTo,
  resolveModel,
  type Tier,
} from './catalogue.ts';
export { type Choice, type Circumstances, chooseModel } from './choose-model.ts';
export { type Cost, costOf } from './cost.ts';
export { type Environment, httpUrl } from './environment.ts';
export { MODEL_TABLE } from './model-table.ts';
export { parseModelsDev } from './models-dev.ts';
export { parseModels } from './models-file.ts';
export { VENDORS, type Vendor, vendorNamed, WIRES, type Wire } from './vendors.ts';
