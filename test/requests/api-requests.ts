import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { anyMarker, anyOfSchema, is, type Json, type JsonRecord, type Schema } from './any-value';
import type { CallerApi } from './audited-endpoint';
import type { Path } from './expected-members';
import { CHAT_MEMBERS } from './chat-members';
import { MESSAGES_MEMBERS } from './messages-members';
import { RESPONSES_MEMBERS } from './responses-members';

interface Document {
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema & { readonly required?: readonly string[] }>>;
  };
}

const DOCUMENT = JSON.parse(
  readFileSync(join(__dirname, '../../apps/gateway/src/openapi/openapi.json'), 'utf8'),
) as Document;

const APIS = {
  chat: { schema: 'ChatCompletionDto', deep: CHAT_MEMBERS },
  responses: { schema: 'ResponsesDto', deep: RESPONSES_MEMBERS },
  messages: { schema: 'MessagesDto', deep: MESSAGES_MEMBERS },
} as const;

/** A member that no API has: what is passed on where the bytes pass, and named elsewhere. */
const FUTURE = 'future_member';

/** The audit sets the model itself, a stream needs another reader of the answer, and the last three may only be null. */
const SET_ELSEWHERE: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'models',
  'previous_response_id',
  'conversation',
  'preset',
]);

/** Most optional members of one request: with few, what is named for one seldom covers another. */
const MOST_MEMBERS = 5;

/** Returns values of every member that the OpenAPI document declares for an API. @throws where one has none */
export function membersOf(api: CallerApi): Readonly<Record<string, fc.Arbitrary<Json>>> {
  const { schema, deep } = APIS[api];
  const declared = Object.entries(DOCUMENT.components.schemas[schema]!.properties!);
  const members = declared
    .filter(([name]) => !SET_ELSEWHERE.has(name))
    .map(([name, value]) => {
      const values = (deep as Readonly<Record<string, fc.Arbitrary<Json>>>)[name] ?? anyOfSchema(value);
      if (values === null) throw new Error(`${name} of ${api} has no values: declare them in ${api}-members.ts`);
      return [name, values] as const;
    });
  return { ...Object.fromEntries(members), [FUTURE]: anyMarker };
}

/** Any request of an API: what it needs, a few of its other members, and in one of its objects one that no API has. */
export function anyRequestOf(api: CallerApi): fc.Arbitrary<JsonRecord> {
  return fc.tuple(anyKnownRequestOf(api), fc.nat(), anyMarker).map(([body, place, marker]) => {
    const objects = objectsIn(Object.fromEntries(Object.entries(body).filter(([name]) => HOLDS_MORE.has(name))));
    if (objects.length === 0) return body;
    return withMember(body, objects[place % objects.length]!, marker) as JsonRecord;
  });
}

/** Members that the provider reads, and what they hold too. The gateway's own are checked strictly or read by it alone. */
const HOLDS_MORE: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'system',
  'tools',
  'tool_choice',
  'response_format',
  'text',
  'reasoning',
  'output_config',
  'thinking',
]);

function objectsIn(value: Json, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, held]) =>
    objectsIn(held as Json, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return Array.isArray(value) || path.length === 0 ? inner : [path, ...inner];
}

function withMember(value: Json, [step, ...rest]: Path, marker: string): Json {
  if (step === undefined) return { ...(value as JsonRecord), [FUTURE]: marker };
  if (Array.isArray(value)) {
    return value.map((item: Json, at) => (at === step ? withMember(item, rest, marker) : item));
  }
  const members = value as JsonRecord;
  return { ...members, [step]: withMember(members[step]!, rest, marker) };
}

function anyKnownRequestOf(api: CallerApi): fc.Arbitrary<JsonRecord> {
  const members = membersOf(api);
  const needed = (DOCUMENT.components.schemas[APIS[api].schema]!.required ?? []).filter((name) => name in members);
  const optional = Object.keys(members).filter((name) => !needed.includes(name));
  return fc.subarray(optional, { maxLength: MOST_MEMBERS }).chain((chosen) => {
    const values = [...needed, ...chosen].map((name) => [name, members[name] ?? is(null)] as const);
    return fc.record(Object.fromEntries(values), { noNullPrototype: true }) as fc.Arbitrary<JsonRecord>;
  });
}
