import { MalformedJson, parseJson, isObject, type JsonObject } from '@libs/json';
import { brokenAnswer } from '../wire/upstream-error';
import type { Provider } from '../catalogue/catalogue';

/** Returns the data of an event as an object. @throws AppError provider_unavailable if it is not one */
export function parseEventData(data: string, provider: Provider): JsonObject {
  try {
    const value = parseJson(Buffer.from(data));
    if (isObject(value)) return value;
  } catch (thrown) {
    if (!(thrown instanceof MalformedJson)) throw thrown;
    throw brokenAnswer(provider, 'an event is not JSON', thrown);
  }
  throw brokenAnswer(provider, 'an event is no object');
}
