import type { IncomingHttpHeaders } from 'node:http';
import { MalformedJson, parseJson, defined, isObject, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';
import { upstreamError } from '../wire/upstream-error';

const MOST_DETAILS = 8;

/**
 * Returns a refusal of Mistral as our error. Mistral describes an invalid request as a list of details, as a text, or
 * as JSON inside a text, with status 422 or 400. Values that the details quote are left out.
 */
export function mistralError(provider: Provider, status: number, headers: IncomingHttpHeaders, body: Buffer): AppError {
  const complaint = parsed(body);
  const plain = isObject(complaint) ? Buffer.from(JSON.stringify(plainComplaint(complaint))) : body;
  return upstreamError(provider, statusOf(status, complaint), headers, plain);
}

/**
 * Maps 422 to 400, and 400 for an unknown model to 404, because the model's name comes from our catalogue and not from
 * the caller.
 */
function statusOf(status: number, complaint: unknown): number {
  if (status === 422) return 400;
  return status === 400 && isObject(complaint) && complaint['type'] === 'invalid_model' ? 404 : status;
}

function plainComplaint(complaint: JsonObject): JsonObject {
  const { type, error } = complaint;
  if (isObject(error)) return plainComplaint(error);
  const message = messageOf(complaint['detail']) ?? messageOf(complaint['message']) ?? stringOf(error);
  return defined({ message, type: stringOf(type) });
}

function messageOf(said: unknown): string | undefined {
  if (typeof said === 'string') {
    const inner = said.startsWith('{') ? parsed(Buffer.from(said)) : undefined;
    return (isObject(inner) ? messageOf(inner) : undefined) ?? said;
  }
  if (Array.isArray(said)) return objectsOf(said).slice(0, MOST_DETAILS).map(detailOf).join('; ') || undefined;
  return isObject(said) ? (messageOf(said['detail']) ?? stringOf(said['message'])) : undefined;
}

/** Returns the position and the problem, as in `tools.0.function: Field required`. */
function detailOf({ loc, msg }: JsonObject): string {
  const path = (Array.isArray(loc) ? loc : []).filter((step, i) => i > 0 || step !== 'body').join('.');
  return [path, stringOf(msg) ?? 'is not valid'].filter((word) => word !== '').join(': ');
}

/** Undefined for what is no JSON. */
function parsed(body: Buffer): unknown {
  try {
    return parseJson(body);
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return undefined;
    throw thrown;
  }
}
