import { memberPath, sentValue } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { API_OF_BATCH, isBatchEndpoint, type BatchEndpoint } from '@libs/inference';

/** The top-level fields of a batch submission other than `requests`. */
export interface BatchHeader {
  readonly endpoint: BatchEndpoint;
  readonly model: string;
  /** Provider slugs or names that the batch is restricted to; null means any provider. */
  readonly only: readonly string[] | null;
  /** Webhook URL to call when the batch ends; null if none is given. Not validated yet. */
  readonly callbackUrl: string | null;
}

const MAX_MODEL_LENGTH = 256;
const MAX_PROVIDERS = 100;

/** Collects the fields as they arrive, in any order, and validates each as soon as it is complete. */
export class BatchHeaderReader {
  private endpoint: BatchEndpoint | null = null;
  private model: string | null = null;
  private only: readonly string[] | null = null;
  private callbackUrl: string | null = null;

  /** @throws AppError invalid_request with the name of the field. Unknown fields are ignored. */
  read(name: string, json: Buffer): void {
    const value = parseMember(name, json);
    switch (name) {
      case 'endpoint':
        this.endpoint = readEndpoint(value);
        break;
      case 'model':
        this.model = readModel(value);
        break;
      case 'completion_window':
        if (value !== '24h') throw refused('completion_window', 'must be "24h"', value);
        break;
      case 'provider':
        this.only = readProvider(value);
        break;
      case 'callback_url':
        this.callbackUrl = readCallbackUrl(value);
        break;
      default:
        break;
    }
  }

  /** @throws AppError invalid_request if a required field is missing */
  finish(): BatchHeader {
    if (this.endpoint === null) throw refused('endpoint', 'is required');
    if (this.model === null) throw refused('model', 'is required');
    const { endpoint, model, only, callbackUrl } = this;
    return { endpoint, model, only, callbackUrl };
  }
}

function parseMember(name: string, json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    throw new AppError('invalid_request', `Malformed batch input: ${memberPath('', name)} is not valid JSON`);
  }
}

function readEndpoint(value: unknown): BatchEndpoint {
  if (isBatchEndpoint(value)) return value;
  throw refused('endpoint', `must be one of ${Object.keys(API_OF_BATCH).join(', ')}`, value);
}

function readModel(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw refused('model', 'must be a non-empty string', value);
  if (value.length > MAX_MODEL_LENGTH) throw refused('model', `is longer than ${MAX_MODEL_LENGTH} characters`);
  if (value.includes('\0') || !value.isWellFormed()) throw refused('model', 'must be valid text');
  return value;
}

function readProvider(value: unknown): readonly string[] | null {
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) throw refused('provider', 'must be an object', value);
  const other = Object.entries(value).find(([name, preference]) => name !== 'only' && preference !== null);
  if (other !== undefined) {
    throw refused(memberPath('provider', other[0]), 'cannot be used in a batch, only provider.only');
  }
  return readOnly((value as { only?: unknown }).only);
}

function readOnly(only: unknown): readonly string[] | null {
  if (only === undefined || only === null) return null;
  if (!Array.isArray(only) || only.length === 0 || only.length > MAX_PROVIDERS) {
    throw refused('provider.only', `must be an array of 1 to ${MAX_PROVIDERS} provider slugs`, only);
  }
  if (!only.every((slug) => typeof slug === 'string' && slug !== '')) {
    throw refused('provider.only', 'must hold provider slugs');
  }
  return only as string[];
}

function readCallbackUrl(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  throw refused('callback_url', 'must be a string', value);
}

function refused(param: string, what: string, value?: unknown): AppError {
  return new AppError('invalid_request', `${param} ${what}${sentValue(param, value)}`, { metadata: { param } });
}
