import { APIS } from '../apis/apis';
import type { Endpoint } from '../catalogue/catalogue-entries';
import type { StreamableApi } from '../dialects/dialect-pairs';
import type { EndpointNeed } from '../model/endpoint-need';

/** Returns what an endpoint needs for fields that a translation cannot carry. `isNative`: whether it has the API. */
export function untranslatedNeeds(
  api: StreamableApi,
  body: Readonly<Record<string, unknown>>,
  isNative: (endpoint: Endpoint) => boolean,
): readonly EndpointNeed[] {
  const asked = APIS[api].untranslatable.filter((member) => (body[member] ?? null) !== null);
  return asked.map((member) => ({
    member,
    message: `${member} can be used only at a model whose provider has this API: no endpoint that may serve has it`,
    isMetBy: isNative,
  }));
}
