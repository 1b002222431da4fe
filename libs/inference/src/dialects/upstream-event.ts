import { brokenAnswer } from '../wire/upstream-error';
import type { Provider } from '../catalogue/catalogue';
import { MalformedJson } from '../json/json-grammar';
import { parseJson } from '../json/json-value';
import { isObject, type JsonObject } from '../json/loose-values';

/** The data of an event as an object. @throws AppError provider_unavailable when it is none */
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
