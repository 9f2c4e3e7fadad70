/** The known models, their prices, and the accounts that serve them. */
export {
  accountProblem,
  usableAccounts,
  type ConfiguredAccount,
  type KeyCommand,
  type KeySource,
  type ListedAccount,
  listedAccounts,
  ollamaAccount,
  type ValueSource,
} from './accounts.ts';
export { isAwsRegion, type AwsAccountSettings } from './aws-access.ts';
export {
  type InputKind,
  type Model,
  type ModelEntry,
  mergeModels,
  type Price,
  type Rates,
  modelReference,
  resolveModel,
  type Tier,
} from './catalogue.ts';
export { type ChosenModel, type ModelChoiceInput, chooseModel } from './choose-model.ts';
export { type Cost, costOf } from './cost.ts';
export { type Environment, httpUrl } from './environment.ts';
export { describeGoogleCredentials, GOOGLE_LOCATION, GOOGLE_PROJECT } from './google-cloud.ts';
export { MODEL_TABLE } from './model-table.ts';
export { parseModelsDev } from './models-dev.ts';
export { parseModels } from './models-file.ts';
export { VENDORS, type Vendor, findVendor, PROVIDER_APIS, type ProviderApi } from './vendors.ts';
