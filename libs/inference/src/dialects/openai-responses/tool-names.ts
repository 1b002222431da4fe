import { hash } from 'node:crypto';
import { objectsOf, stringOf, type JsonObject } from '@libs/json';
import { toolEntriesIn } from '../../model/provider-tools';

/** The longest name that every API takes for a function. */
const LONGEST_NAME = 64;
const DIGEST_LENGTH = 8;
const SEPARATOR = '__';

/** A tool that the caller runs, by the names that it has in responses. */
export interface ToolPlace {
  readonly name: string;
  /** Absent for a tool that is in no namespace. */
  readonly namespace?: string;
  /** Whether it is called with free text. */
  readonly isCustom: boolean;
}

/** A tool of a request under the name by which other APIs know it. */
export interface FlatTool {
  readonly name: string;
  readonly tool: JsonObject;
}

/**
 * The names of a request's tools, where namespaces are unknown: `spawn` in the namespace `agents` is the function
 * `agents__spawn`. Covers `tools` and the `additional_tools` of the input.
 */
export class ToolNames {
  /** With the tools of namespaces in place of these. */
  readonly tools: readonly FlatTool[];
  readonly #places = new Map<string, ToolPlace>();
  readonly #flat = new Map<string, string>();
  readonly #firsts = new Map<string, JsonObject>();
  /** Those of `#firsts` that another tool was compared with, as JSON. */
  readonly #texts = new Map<string, string>();

  constructor(request: JsonObject) {
    const entries = toolEntriesIn(request);
    const plain = new Set(entries.flatMap(({ type, name }) => (type === 'namespace' ? [] : (stringOf(name) ?? []))));
    this.tools = entries.flatMap((entry) => {
      if (entry['type'] !== 'namespace') return this.#add(entry, stringOf(entry['name']) ?? '');
      return objectsOf(entry['tools']).flatMap((tool) => this.#addInside(stringOf(entry['name']) ?? '', tool, plain));
    });
  }

  /** Returns the name by which other APIs know a tool, whether or not this request offers it. */
  flatName(name: string, namespace: string | undefined): string {
    return namespace === undefined ? name : (this.#flat.get(keyOf(namespace, name)) ?? joined(namespace, name));
  }

  /** Returns the tool that a model has called; undefined for one that the request does not offer. */
  placeOf(flatName: string): ToolPlace | undefined {
    return this.#places.get(flatName);
  }

  #addInside(namespace: string, tool: JsonObject, plain: ReadonlySet<string>): readonly FlatTool[] {
    const name = stringOf(tool['name']) ?? '';
    const wanted = joined(namespace, name);
    const flat = plain.has(wanted) || this.#isTaken(wanted, namespace, name) ? digested(namespace, name) : wanted;
    this.#flat.set(keyOf(namespace, name), flat);
    return this.#add(tool, flat, namespace);
  }

  #isTaken(flatName: string, namespace: string, name: string): boolean {
    const place = this.#places.get(flatName);
    return place !== undefined && (place.namespace !== namespace || place.name !== name);
  }

  #add(tool: JsonObject, flatName: string, namespace?: string): readonly FlatTool[] {
    const { type } = tool;
    const name = stringOf(tool['name']);
    if (name === undefined || (type !== 'function' && type !== 'custom')) return [{ name: flatName, tool }];
    if (this.#places.has(flatName)) return this.#isRepeated(flatName, tool) ? [] : [{ name: flatName, tool }];
    this.#firsts.set(flatName, tool);
    const place = { name, isCustom: type === 'custom' };
    this.#places.set(flatName, namespace === undefined ? place : { ...place, namespace });
    return [{ name: flatName, tool }];
  }

  /** Each turn of a conversation may bring the same tool again, and providers refuse a name that is there twice. */
  #isRepeated(flatName: string, tool: JsonObject): boolean {
    const text = this.#texts.get(flatName) ?? JSON.stringify(this.#firsts.get(flatName));
    this.#texts.set(flatName, text);
    return text === JSON.stringify(tool);
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}\n${name}`;
}

function joined(namespace: string, name: string): string {
  const whole = namespace.endsWith(SEPARATOR) ? `${namespace}${name}` : `${namespace}${SEPARATOR}${name}`;
  return whole.length <= LONGEST_NAME ? whole : digested(namespace, name);
}

function digested(namespace: string, name: string): string {
  const digest = hash('sha256', keyOf(namespace, name)).slice(0, DIGEST_LENGTH);
  return `${name.slice(0, LONGEST_NAME - DIGEST_LENGTH - 1)}_${digest}`;
}
