import {
  AWS_REGION,
  AZURE_DEPLOYMENT,
  AZURE_RESOURCE,
  CREDENTIAL_REGIONS,
  GOOGLE_LOCATION,
  GOOGLE_PROJECT,
  isPlainObject,
  readAzureEndpoint,
  type CredentialRegion,
} from '@libs/contracts';
import { findRsaKeyProblem } from './rsa-private-key';

/** A key that is a JSON document: the secret in it that its label is made from, and the region it is bound to. */
export interface KeyDocument {
  readonly secret: string;
  readonly region: CredentialRegion | null;
}

type Members = Readonly<Record<string, unknown>>;

/** Reads a parsed document, or throws a `DocumentProblem`. */
export type ReadDocument = (value: unknown) => KeyDocument;

/** What a document lacks; never contains any of its values. */
export class DocumentProblem extends Error {}

const VISIBLE = /^[\x21-\x7e]{1,8192}$/;
const EMAIL = /^[\x21-\x7e]{1,128}@[\x21-\x7e]{1,253}$/;
const PRIVATE_KEY = /^[\w+/=\n -]{1,8300}$/;
const MODEL = /^[\x21-\x7e]{1,256}$/;
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
  textOf(members, 'region', AWS_REGION);
  if (members['sessionToken'] !== undefined) textOf(members, 'sessionToken', VISIBLE);
  return { secret: textOf(members, 'secretAccessKey', VISIBLE), region: null };
};

/** The key file of a Google service account, with an optional `region`. Its other fields are kept. */
export const serviceAccount: ReadDocument = (value) => {
  const members = objectOf(value, null);
  textOf(members, 'client_email', EMAIL);
  const problem = findRsaKeyProblem(textOf(members, 'private_key', PRIVATE_KEY));
  if (problem !== null) throw new DocumentProblem(`private_key ${problem}`);
  textOf(members, 'project_id', GOOGLE_PROJECT);
  if (members['universe_domain'] !== undefined && members['universe_domain'] !== 'googleapis.com') {
    throw new DocumentProblem('universe_domain must be googleapis.com');
  }
  if (members['region'] !== undefined) textOf(members, 'region', GOOGLE_LOCATION);
  if (members['bucket'] !== undefined) {
    throw new DocumentProblem('bucket has no use here, because no file is stored at Google; leave it out');
  }
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
  requireDifferent(value as Members[], 'model_slug', 'give each model one entry');
  requireDifferent(value as Members[], 'resource_type', 'bring each further resource as a credential of its own');
  return { secret: secrets[0]!, region: null };
};

/** Refuses entries with the same value in a field, because calls would use only the first of them. */
function requireDifferent(entries: readonly Members[], member: string, advice: string): void {
  const values = entries.map((entry) => entry[member]).filter((value) => value !== undefined);
  if (new Set(values).size < values.length) {
    throw new DocumentProblem(`two entries have the same ${member}; ${advice}`);
  }
}

function azureEntry(entry: unknown): string {
  const isDeployment = typeof entry === 'object' && entry !== null && Object.hasOwn(entry, 'endpoint_url');
  if (isDeployment) return azureDeployment(entry);
  const members = objectOf(entry, ['api_key', 'resource_name', 'resource_type']);
  textOf(members, 'resource_name', AZURE_RESOURCE);
  textOf(members, 'resource_type', /^(?:ai_foundry|openai)$/);
  return textOf(members, 'api_key', VISIBLE);
}

function azureDeployment(entry: unknown): string {
  const members = objectOf(entry, ['model_slug', 'endpoint_url', 'api_key', 'model_id']);
  textOf(members, 'model_slug', MODEL);
  const name = textOf(members, 'model_id', AZURE_DEPLOYMENT);
  const read = readAzureEndpoint(textOf(members, 'endpoint_url', VISIBLE));
  if (typeof read === 'string') throw new DocumentProblem(`endpoint_url cannot be used: ${read}`);
  if (read.deployment !== null && read.deployment !== name) {
    throw new DocumentProblem('endpoint_url names another deployment than model_id');
  }
  return textOf(members, 'api_key', VISIBLE);
}

const INHERITED = ['__proto__', 'constructor', 'prototype'];

/** @param known names of all allowed fields; null for documents that may have any */
function objectOf(value: unknown, known: readonly string[] | null): Members {
  if (!isPlainObject(value)) throw new DocumentProblem('it must be a JSON object');
  const names = Object.keys(value);
  if (names.some((name) => (known === null ? INHERITED.includes(name) : !known.includes(name)))) {
    const which = known === null ? 'has a member that no key has' : `may have no members but ${known.join(', ')}`;
    throw new DocumentProblem(`it ${which}`);
  }
  return value;
}

function textOf(members: Members, name: string, pattern: RegExp): string {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw new DocumentProblem(value === undefined ? `${name} is missing` : `${name} is not as it should be`);
}
