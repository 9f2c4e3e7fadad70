import { withoutUndefined } from '../../base/index.ts';
import type { Account } from '../account.ts';
import { awsSigner } from '../aws/index.ts';
import type { Environment } from './environment.ts';

/** Where the credentials of an account at AWS come from; without a profile, from the environment of the process. */
export interface AwsAccountSettings {
  readonly region?: string;
  /** A profile of the user's AWS configuration files. */
  readonly profile?: string;
  /** A role to assume. */
  readonly roleArn?: string;
}

/** The account with its region. Without a key it signs its requests; the region can then also be that of the profile. */
export function awsAccess(
  account: Account,
  { region: stated, profile, roleArn }: AwsAccountSettings,
  env: Environment,
  source: string,
): { readonly account: Account } | { readonly problem: string } {
  const region = stated ?? (env.AWS_REGION?.trim() || env.AWS_DEFAULT_REGION?.trim() || undefined);
  if (region !== undefined && !isAwsRegion(region))
    return {
      problem: `"${region}" is not an AWS region: write it like us-east-1 in AWS_REGION or ${source}`,
    };
  const hasKey = account.apiKey !== undefined || account.keySupply !== undefined;
  if (hasKey && region === undefined && account.baseUrl.includes('{region}'))
    return {
      problem: `no region for ${account.name}: set AWS_REGION, or add region: us-east-1 to ${source}`,
    };
  const baseUrl = region === undefined ? account.baseUrl : account.baseUrl.replaceAll('{region}', region);
  if (hasKey) return { account: { ...account, baseUrl } };
  const signer = awsSigner({
    service: 'bedrock',
    env,
    source,
    ...withoutUndefined({ region, profile, roleArn }),
  });
  return { account: { ...account, baseUrl, signer } };
}

/** Whether a text has the form of a region. It becomes part of a host name. */
export function isAwsRegion(text: string): boolean {
  return /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/.test(text);
}
