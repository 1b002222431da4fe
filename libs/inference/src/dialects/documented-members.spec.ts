import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '@libs/errors';
import { TRANSLATIONS, type StreamableApi } from './dialect-pairs';
import { CHAT_GATEWAY_MEMBERS } from './openai-chat/gateway-members';
import { MESSAGES_GATEWAY_MEMBERS } from './anthropic-messages/gateway-members';
import { GATEWAY_MEMBERS } from './request-members';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, object>>;
}
interface Document {
  readonly paths: Readonly<
    Record<
      string,
      { readonly post: { readonly requestBody: { readonly content: Record<string, { schema: Schema }> } } }
    >
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const FILE = join(__dirname, '../../../../apps/gateway/src/openapi/openapi.json');
const { paths, components } = JSON.parse(readFileSync(FILE, 'utf8')) as Document;

const REQUESTS = {
  chat: { path: '/api/v1/chat/completions', schema: 'ChatCompletionDto', least: { messages: [] } },
  responses: { path: '/api/v1/responses', schema: 'ResponsesDto', least: { input: [] } },
  messages: { path: '/api/v1/messages', schema: 'MessagesDto', least: { messages: [], max_tokens: 1 } },
} as const;
const KEPT = { chat: CHAT_GATEWAY_MEMBERS, responses: GATEWAY_MEMBERS, messages: MESSAGES_GATEWAY_MEMBERS } as const;
const APIS = Object.keys(REQUESTS) as (keyof typeof REQUESTS)[];

/** The fields that the OpenAPI document has for an API, and those that it says are ignored. */
function documentedMembers(api: StreamableApi): readonly string[] {
  const { path, schema } = REQUESTS[api];
  const { description = '', properties = {} } = paths[path]!.post.requestBody.content['application/json']!.schema;
  const ignored = Array.from(description.matchAll(/`(\w+)`/g), ([, name]) => name!);
  return [...Object.keys({ ...components.schemas[schema]!.properties, ...properties }), ...ignored];
}

/** Whether a request with the field is translated without a word about the field. */
function isUnderstood(api: StreamableApi, name: string): boolean {
  try {
    const request = { model: 'a/b', ...REQUESTS[api].least, [name]: 'x' };
    return !TRANSLATIONS.get(api)!
      .caller.readRequest(request)
      .unread.some((each) => each.split('.')[0] === name);
  } catch (thrown) {
    if (thrown instanceof AppError) return true;
    throw thrown;
  }
}

describe('the OpenAPI document', () => {
  it.each(APIS)('has every field of %s that the gateway keeps for itself', (api) => {
    expect(KEPT[api].filter((name) => !documentedMembers(api).includes(name))).toEqual([]);
  });

  it.each(APIS)('has every field of %s that is read for translation', (api) => {
    const names = new Set(APIS.flatMap((each) => [...documentedMembers(each), ...KEPT[each]]));
    const missing = [...names].filter((name) => isUnderstood(api, name) && !documentedMembers(api).includes(name));
    expect(missing).toEqual([]);
  });
});
