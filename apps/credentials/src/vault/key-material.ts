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

/** Facts about a raw key that may be stored. */
export interface KeyMaterial {
  readonly label: string;
  /** The region in the key itself; null if it has none. */
  readonly region: CredentialRegion | null;
}

/** The providers whose keys may be JSON documents. Every provider also accepts a plain key. */
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
 * Reads a key in one of the forms that its provider accepts. Checks only the form: whether the key works is seen when
 * it is used.
 * @throws AppError invalid_request for a document that does not have the provider's form; it shows none of the text
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
    // The parser's own message would repeat the text.
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
