import type { CredentialRegion, Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  accessKeys,
  azureResources,
  DocumentProblem,
  regionalKey,
  serviceAccount,
  type KeyDocument,
  type ReadDocument,
} from './key-documents';
import { labelOfDocument, labelOfKey } from './key-label';

/** What is known of a raw key without keeping it. */
export interface KeyMaterial {
  readonly label: string;
  /** Where the key itself says that it is used; null where it says nothing. */
  readonly region: CredentialRegion | null;
}

/** The providers whose keys may be documents. Everywhere a plain key is a key too. */
const DOCUMENTS: Readonly<Record<string, ReadDocument>> = {
  openai: regionalKey,
  fireworks: regionalKey,
  azure: azureResources,
  'amazon-bedrock': accessKeys,
  'amazon-bedrock/claude-on-aws': accessKeys,
  'claude-on-aws': accessKeys,
  'google-vertex': serviceAccount,
};

/**
 * The forms of a key that a provider takes (interface §4.9). Only the form is judged: whether the key is good
 * is found out by its use.
 *
 * @throws AppError invalid_request for a document that is none of the provider's; never any of its text
 */
export function readKeyMaterial(provider: string, key: Secret): KeyMaterial {
  const text = key.reveal();
  if (!/^[{[]/.test(text)) return { label: labelOfKey(text), region: null };
  const read = Object.hasOwn(DOCUMENTS, provider) ? DOCUMENTS[provider] : undefined;
  if (read === undefined) throw refused('a key of this provider is a plain text');
  const { secret, region } = readDocument(text, read);
  return { label: labelOfDocument(secret), region };
}

function readDocument(text: string, read: ReadDocument): KeyDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words would repeat what it read.
    throw refused('it is not valid JSON');
  }
  try {
    return read(value);
  } catch (thrown) {
    if (thrown instanceof DocumentProblem) throw refused(thrown.message);
    throw thrown;
  }
}

function refused(problem: string): AppError {
  return new AppError('invalid_request', `key cannot be used: ${problem}`, { metadata: { param: 'key' } });
}
