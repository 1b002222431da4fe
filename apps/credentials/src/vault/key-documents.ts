import { CREDENTIAL_REGIONS, type CredentialRegion } from '@libs/contracts';

/** A key that is a JSON document: the secret in it that its label is made from, and the region it is bound to. */
export interface KeyDocument {
  readonly secret: string;
  readonly region: CredentialRegion | null;
}

type Members = Readonly<Record<string, unknown>>;

/** Reads a parsed document, or throws a `DocumentProblem`. */
export type ReadDocument = (value: unknown) => KeyDocument;

/** Says what a document lacks; never any of its values. */
export class DocumentProblem extends Error {}

const VISIBLE = /^[\x21-\x7e]{1,8192}$/;
const REGION_NAME = /^[a-z]{2,20}(?:-[a-z0-9]{1,20}){0,4}$/;
const RESOURCE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?$/;
const BUCKET_NAME = /^[a-z0-9](?:[a-z0-9._-]{1,220}[a-z0-9])?$/;
const EMAIL = /^[\x21-\x7e]{1,128}@[\x21-\x7e]{1,253}$/;
const PRIVATE_KEY =
  /^-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\n[\w+/=\n]{1,8192}-----END [A-Z ]{0,20}PRIVATE KEY-----\n?$/;
const MODEL = /^[\x21-\x7e]{1,256}$/;
/** A key must not be sent anywhere but to the platform it is for. */
const AZURE_HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:azure\.com|azure-api\.net|azure\.us|azure\.cn)$/;
const MAX_AZURE_ENTRIES = 100;

/** `{api_key, region}` of OpenAI and Fireworks. */
export const regionalKey: ReadDocument = (value) => {
  const members = objectOf(value, ['api_key', 'region']);
  const region = members['region'];
  if (!CREDENTIAL_REGIONS.some((known) => known === region)) {
    throw new DocumentProblem(`region must be one of ${CREDENTIAL_REGIONS.join(', ')}`);
  }
  return { secret: textOf(members, 'api_key', VISIBLE), region: region as CredentialRegion };
};

/** `{accessKeyId, secretAccessKey, region, sessionToken?}` of Amazon. */
export const accessKeys: ReadDocument = (value) => {
  const members = objectOf(value, ['accessKeyId', 'secretAccessKey', 'region', 'sessionToken']);
  textOf(members, 'accessKeyId', VISIBLE);
  textOf(members, 'region', REGION_NAME);
  if (members['sessionToken'] !== undefined) textOf(members, 'sessionToken', VISIBLE);
  return { secret: textOf(members, 'secretAccessKey', VISIBLE), region: null };
};

/** The key file of a service account of Google, with an optional `region` and `bucket`. Its other members are kept. */
export const serviceAccount: ReadDocument = (value) => {
  const members = objectOf(value, null);
  textOf(members, 'client_email', EMAIL);
  textOf(members, 'private_key', PRIVATE_KEY);
  if (members['region'] !== undefined) textOf(members, 'region', REGION_NAME);
  if (members['bucket'] !== undefined) textOf(members, 'bucket', BUCKET_NAME);
  const id = members['private_key_id'];
  return { secret: typeof id === 'string' ? id : '', region: null };
};

/**
 * A list of Azure's resources, `{api_key, resource_name, resource_type}`, and of single deployments,
 * `{model_slug, endpoint_url, api_key, model_id}`.
 */
export const azureResources: ReadDocument = (value) => {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_AZURE_ENTRIES) {
    throw new DocumentProblem(`it must be a list of 1 to ${MAX_AZURE_ENTRIES} resources`);
  }
  const secrets = value.map((entry: unknown) => azureEntry(entry));
  return { secret: secrets[0]!, region: null };
};

function azureEntry(entry: unknown): string {
  const isDeployment = typeof entry === 'object' && entry !== null && Object.hasOwn(entry, 'endpoint_url');
  if (isDeployment) return azureDeployment(entry);
  const members = objectOf(entry, ['api_key', 'resource_name', 'resource_type']);
  textOf(members, 'resource_name', RESOURCE_NAME);
  textOf(members, 'resource_type', /^(?:ai_foundry|openai)$/);
  return textOf(members, 'api_key', VISIBLE);
}

function azureDeployment(entry: unknown): string {
  const members = objectOf(entry, ['model_slug', 'endpoint_url', 'api_key', 'model_id']);
  textOf(members, 'model_slug', MODEL);
  textOf(members, 'model_id', MODEL);
  const url = URL.parse(textOf(members, 'endpoint_url', VISIBLE));
  if (url === null || !isOfAzure(url)) throw new DocumentProblem('endpoint_url must be an https URL of Azure');
  return textOf(members, 'api_key', VISIBLE);
}

function isOfAzure({ protocol, port, hostname, username, password, hash }: URL): boolean {
  return protocol === 'https:' && port === '' && AZURE_HOST.test(hostname) && username + password + hash === '';
}

const INHERITED = ['__proto__', 'constructor', 'prototype'];

/** @param known names of all members that there may be; null for documents that may have any */
function objectOf(value: unknown, known: readonly string[] | null): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DocumentProblem('it must be a JSON object');
  }
  const names = Object.keys(value);
  if (names.some((name) => (known === null ? INHERITED.includes(name) : !known.includes(name)))) {
    const which = known === null ? 'has a member that no key has' : `may have no members but ${known.join(', ')}`;
    throw new DocumentProblem(`it ${which}`);
  }
  return value as Members;
}

function textOf(members: Members, name: string, pattern: RegExp): string {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw new DocumentProblem(value === undefined ? `${name} is missing` : `${name} is not as it should be`);
}
