/** Where the credentials of an account come from. */
export interface AwsSettings {
  /** The name of the service in signatures. */
  readonly service: string;
  readonly region?: string;
  /** A profile of the user's AWS configuration files. */
  readonly profile?: string;
  /** A role to assume with the credentials. */
  readonly roleArn?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The setting that describes the account, for errors. */
  readonly source: string;
}
