import { buildMessage, ValidateBy, type ValidationOptions } from 'class-validator';
import { API_KEY_HASH } from '../keys/keys.messages';

/** Where a credential declares that its prompts are processed. */
export const CREDENTIAL_REGIONS = ['global', 'europe', 'us'] as const;
export type CredentialRegion = (typeof CREDENTIAL_REGIONS)[number];

/** A slug of the catalogue or of the list of providers: `openai`, `anthropic/2`. */
export const PROVIDER_SLUG = /^[a-z0-9][a-z0-9._-]{0,99}(?:\/[a-z0-9][a-z0-9._-]{0,99})?$/;

/** A document of a cloud platform with a private key in it has about 2,500 characters. */
export const MAX_CREDENTIAL_KEY_LENGTH = 16_384;
export const MAX_CREDENTIAL_NAME_LENGTH = 255;

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const DOCUMENT = /^[{[]/;
/** Control characters other than the blanks of JSON; any of these would end up in a header. */
const FOREIGN_CONTROL = /(?![\t\n\r])\p{Cc}/u;

/**
 * The raw key of a provider, stored unchanged: visible ASCII without spaces, or a JSON document, which begins with `{`
 * or `[` and may have line breaks. Whether the provider accepts documents is checked later.
 */
export function IsCredentialKey(options?: ValidationOptions): PropertyDecorator {
  return rule(
    'isCredentialKey',
    isCredentialKey,
    `must be visible ASCII text without blanks, or a JSON document, of at most ${MAX_CREDENTIAL_KEY_LENGTH} characters`,
    options,
  );
}

function isCredentialKey(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || value.length > MAX_CREDENTIAL_KEY_LENGTH) return false;
  if (!DOCUMENT.test(value)) return VISIBLE_ASCII.test(value);
  return value === value.trim() && value.isWellFormed() && !FOREIGN_CONTROL.test(value);
}

const MAX_ENTRIES = 100;
/** A slug `<vendor>/<model>`, or an alias such as `gpt-4o`. */
const MODEL_NAME = /^~?[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)*(?::[a-z0-9-]+)?$/;
const MAX_MODEL_NAME_LENGTH = 256;
/** Same limit as for the `creator_user_id` of a key, with which it is compared. */
const MAX_USER_ID_LENGTH = 200;

/** 1 to 100 different key hashes. */
export function AreKeyHashes(options?: ValidationOptions): PropertyDecorator {
  const isOne = (value: string): boolean => API_KEY_HASH.test(value);
  const expected = `must be 1 to ${MAX_ENTRIES} different texts of 64 lower-case hex characters`;
  return rule('areKeyHashes', (value) => isListOf(value, 1, isOne), expected, options);
}

/** Validates a list of at most 100 different slugs or aliases of models. */
export function AreModelNames(options?: ValidationOptions): PropertyDecorator {
  const isOne = (value: string): boolean => value.length <= MAX_MODEL_NAME_LENGTH && MODEL_NAME.test(value);
  return rule(
    'areModelNames',
    (value) => isListOf(value, 0, isOne),
    `must be at most ${MAX_ENTRIES} different slugs or aliases of models`,
    options,
  );
}

/** Validates a list of at most 100 different user ids. */
export function AreUserIds(options?: ValidationOptions): PropertyDecorator {
  return rule(
    'areUserIds',
    (value) => isListOf(value, 0, isUserId),
    `must be at most ${MAX_ENTRIES} different texts of 1 to ${MAX_USER_ID_LENGTH} characters`,
    options,
  );
}

function isUserId(value: string): boolean {
  return value.trim() !== '' && value.length <= MAX_USER_ID_LENGTH && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

function isListOf(value: unknown, least: number, isOne: (value: string) => boolean): boolean {
  if (!Array.isArray(value) || value.length < least || value.length > MAX_ENTRIES) return false;
  return value.every((one) => typeof one === 'string' && isOne(one)) && new Set(value).size === value.length;
}

function rule(
  name: string,
  validate: (value: unknown) => boolean,
  expected: string,
  options?: ValidationOptions,
): PropertyDecorator {
  const defaultMessage = buildMessage((each) => `${each}$property ${expected}`, options);
  return ValidateBy({ name, validator: { validate, defaultMessage } }, options);
}
