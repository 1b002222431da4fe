import { shownType } from '@libs/contracts';
import { isObject, type JsonObject } from '@libs/json';
import type { ToolChoice } from '../model/canonical-request';

/** Members of an object, by name. */
export interface KnownMembers {
  readonly [name: string]: Known;
}

/**
 * What a dialect knows of a value: all of it, or the members of the object, or of the objects in the list. `true` stands
 * for a value that is read, passed on as it is, or named as lost by who reads it.
 */
export type Known = true | KnownMembers | KnownByType;

/** Objects whose `type` says what else they hold. Those of a type that is not listed are named by who reads them. */
export class KnownByType {
  /** `usual`: the type of objects that name none. */
  constructor(
    readonly types: Readonly<Record<string, KnownMembers>>,
    readonly usual = '',
  ) {}
}

/** Returns members whose values are known as a whole. */
export function allOf(names: Iterable<string>): KnownMembers {
  return Object.fromEntries(Array.from(names, (name) => [name, true] as const));
}

/** Returns the paths of the members that are not known, such as `messages.content.lang`. Null counts as absent. */
export function unknownMembers(body: JsonObject, known: KnownMembers): Set<string> {
  const found = new Set<string>();
  for (const name in body) visit(body[name], known, name, name, found);
  return found;
}

function visit(value: unknown, around: KnownMembers, name: string, path: string, found: Set<string>): void {
  if ((value ?? null) === null) return;
  const known = Object.hasOwn(around, name) ? around[name]! : null;
  if (known === null) found.add(path);
  else if (known === true) return;
  else if (Array.isArray(value)) for (const item of value) visitObject(item, known, path, found);
  else visitObject(value, known, path, found);
}

function visitObject(value: unknown, known: KnownMembers | KnownByType, path: string, found: Set<string>): void {
  if (!isObject(value)) return;
  const members = known instanceof KnownByType ? membersOf(value, known) : known;
  if (members === null) return;
  for (const name in value) if (name !== 'type') visit(value[name], members, name, `${path}.${name}`, found);
}

function membersOf({ type }: JsonObject, { types, usual }: KnownByType): KnownMembers | null {
  const name = typeof type === 'string' ? type : usual;
  return Object.hasOwn(types, name) ? types[name]! : null;
}

/** Returns the name under which a tool of this type is reported as lost. */
export function lostTool(type: string): string {
  return shownType(type) === null ? 'tools' : `tools.${type}`;
}

/**
 * Adds to `unread` what a request forbids about tools if none of the offered tools is left: the settings are lost with
 * the tools. They stay in the request, because the gateway may add tools that it runs itself.
 */
export function noteIdleToolSettings(
  { isParallelAllowed, toolChoice }: { readonly isParallelAllowed?: boolean; readonly toolChoice?: ToolChoice },
  { offered, left }: { readonly offered: number; readonly left: number },
  unread: Set<string>,
): void {
  if (offered === 0 || left > 0) return;
  if (isParallelAllowed === false) unread.add('parallel_tool_calls');
  if (toolChoice?.type === 'none') unread.add('tool_choice');
}
