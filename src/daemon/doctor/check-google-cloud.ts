import { messageOf } from '../../base/index.ts';
import { describeGoogleCredentials, type Environment, findVendor, usableAccounts } from '../../llm/index.ts';
import type { Config } from '../../setup/config/index.ts';
import type { Finding } from './finding.ts';

/** Checks the application default credentials, if an account uses them. Requests no token. */
export async function checkGoogleCloud(env: Environment, { accounts }: Config): Promise<readonly Finding[]> {
  const check = 'Google Cloud';
  const isUsed = usableAccounts(env, accounts).some(({ name }) => {
    const { vendor = name, key } = accounts.find((account) => account.name === name) ?? {};
    return key === undefined && findVendor(vendor)?.googleCloud === true;
  });
  if (!isUsed) return [];
  try {
    return [{ check, state: 'ok', text: `credentials: ${await describeGoogleCredentials(env)}` }];
  } catch (thrown) {
    const next = 'run gcloud auth application-default login, or correct GOOGLE_APPLICATION_CREDENTIALS';
    return [{ check, state: 'bad', text: messageOf(thrown), next }];
  }
}
