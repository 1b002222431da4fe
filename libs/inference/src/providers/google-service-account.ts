import { MalformedJson, parseJson, isObject, stringOf } from '@libs/json';
import type { Secret } from '@libs/contracts';

/** The fields of a service account's key document that are used. `token_uri` is not among them. */
export interface ServiceAccount {
  readonly email: string;
  readonly privateKey: string;
  readonly privateKeyId: string | undefined;
  readonly projectId: string | undefined;
}

/** Returns whether a key is a service account document, not a plain API key. */
export function isServiceAccount(key: Secret): boolean {
  return key.reveal().trimStart().startsWith('{');
}

/** Goes into a path. */
const PROJECT = /^[a-z0-9][a-z0-9.:-]{0,99}$/;

/** Returns the fields of a service account key; null if the document is not one. */
export function readServiceAccount(document: Secret): ServiceAccount | null {
  const value = parsed(document);
  if (!isObject(value)) return null;
  const [email, privateKey] = [stringOf(value['client_email']), stringOf(value['private_key'])];
  if (!email || !privateKey) return null;
  const projectId = stringOf(value['project_id']) ?? '';
  return {
    email,
    privateKey,
    privateKeyId: stringOf(value['private_key_id']),
    projectId: PROJECT.test(projectId) ? projectId : undefined,
  };
}

function parsed(document: Secret): unknown {
  try {
    return parseJson(Buffer.from(document.reveal()));
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}
