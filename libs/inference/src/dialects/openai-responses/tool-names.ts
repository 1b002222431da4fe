import { hash } from 'node:crypto';
import { objectsOf, stringOf, type JsonObject } from '@libs/json';
import { toolEntriesIn } from '../../model/provider-tools';

/** The longest function name that every API accepts. */
const LONGEST_NAME = 64;
const DIGEST_LENGTH = 8;
const SEPARATOR = '__';

/** A tool that the caller runs, under its names in the Responses API. */
export interface ToolPlace {
  readonly name: string;
  /** Absent for a tool outside any namespace. */
  readonly namespace?: string;
  /** Whether it is called with free text. */
  readonly isCustom: boolean;
}

/** A tool of a request under the name that other APIs use for it. */
export interface FlatTool {
  readonly name: string;
  readonly tool: JsonObject;
}

/**
 * The names of a request's tools for APIs without namespaces: `spawn` in the namespace `agents` becomes the function
 * `agents__spawn`. Covers `tools` and the `additional_tools` of the input.
 */
export class ToolNames {
  /** The tools of the request; a namespace is replaced by its tools. */
  readonly tools: readonly FlatTool[];
  readonly #places = new Map<string, ToolPlace>();
  readonly #flat = new Map<string, string>();
  readonly #firsts = new Map<string, JsonObject>();
  /** JSON of the tools of `#firsts` that were compared with another tool. */
  readonly #texts = new Map<string, string>();

  constructor(request: JsonObject) {
    const entries = toolEntriesIn(request);
    const plain = new Set(entries.flatMap(({ type, name }) => (type === 'namespace' ? [] : (stringOf(name) ?? []))));
    this.tools = entries.flatMap((entry) => {
      if (entry['type'] !== 'namespace') return this.#add(entry, stringOf(entry['name']) ?? '');
      return objectsOf(entry['tools']).flatMap((tool) => this.#addInside(stringOf(entry['name']) ?? '', tool, plain));
    });
  }

  /** Returns the name that other APIs use for a tool, even if this request does not offer it. */
  flatName(name: string, namespace: string | undefined): string {
    return namespace === undefined ? name : (this.#flat.get(keyOf(namespace, name)) ?? joined(namespace, name));
  }

  /** Returns the tool that a model called; undefined if the request does not offer it. */
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

  /**
   * Returns whether a tool was listed before. Each turn of a conversation may list it again, and providers refuse a
   * name that occurs twice.
   */
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
