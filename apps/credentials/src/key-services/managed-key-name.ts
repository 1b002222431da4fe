/** A key of a key management service, as named in `CREDENTIALS_KEYRING`. */
export type ManagedKeyName =
  | { readonly id: string; readonly service: 'aws-kms'; readonly arn: string; readonly region: string }
  | { readonly id: string; readonly service: 'gcp-kms'; readonly path: string }
  | { readonly id: string; readonly service: 'vault-transit'; readonly mount: string; readonly name: string };

const AWS = /^aws-kms:\/\/(arn:aws[a-z-]{0,10}:kms:([a-z0-9-]{1,30}):\d{12}:(?:key|alias)\/[\w/-]{1,256})$/;
const PART = '[A-Za-z0-9._:-]{1,63}';
const GCP = new RegExp(`^gcp-kms://(projects/${PART}/locations/${PART}/keyRings/${PART}/cryptoKeys/${PART})$`);
const VAULT = /^vault-transit:\/\/(?:([\w-]{1,64}(?:\/[\w-]{1,64}){0,4})\/)?([\w-]{1,64})$/;

/** Whether an entry of the ring means to name a key management service. */
export function isManagedKeyName(entry: string): boolean {
  return /^[a-z-]+:\/\//.test(entry);
}

/** @throws Error that says what is wrong and shows nothing of the entry */
export function parseManagedKeyName(id: string): ManagedKeyName {
  const [, arn, region] = AWS.exec(id) ?? [];
  if (arn !== undefined && region !== undefined) return { id, service: 'aws-kms', arn, region };
  const [, path] = GCP.exec(id) ?? [];
  if (path !== undefined) return { id, service: 'gcp-kms', path };
  const [, mount = 'transit', name] = VAULT.exec(id) ?? [];
  if (name !== undefined) return { id, service: 'vault-transit', mount, name };
  throw new Error(
    'a key management service is not aws-kms://ARN, gcp-kms://projects/…/cryptoKeys/NAME or vault-transit://MOUNT/NAME',
  );
}
