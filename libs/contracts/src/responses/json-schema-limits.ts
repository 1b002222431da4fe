import { isPlainObject } from '../validation/well-formed';

const LARGEST_SCHEMA_CHARACTERS = 512 * 1024;
const LARGEST_SCHEMAS_CHARACTERS = 4 * LARGEST_SCHEMA_CHARACTERS;
const LONGEST_REFERENCE = 1_024;
type Fields = Record<string, unknown>;

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** The characters that the schemas of many functions may have together. */
export class SchemaBudget {
  #left = LARGEST_SCHEMAS_CHARACTERS;

  /** Counts a schema's elements; returns false if the schemas before it left too few. */
  takes(characters: number): boolean {
    this.#left -= characters;
    return this.#left >= 0;
  }
}

/** Checks a JSON Schema that an upstream will be asked to follow: its kind and its size. */
export function findSchemaProblem(schema: unknown): string | null {
  return findKindProblem(schema) ?? new SchemaWalk(schema as Fields).problem(true);
}

/** Checks the parameters of a function: a schema, and one that ends, since every provider must be able to unfold it. */
export function findParametersProblem(parameters: unknown, budget = new SchemaBudget()): string | null {
  return findKindProblem(parameters) ?? new SchemaWalk(parameters as Fields, budget).problem(false);
}

function findKindProblem(schema: unknown): string | null {
  if (!isPlainObject(schema)) return ' must be an object';
  const { type } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const isKnown = type === undefined || types.every((name) => TYPES.includes(name as string));
  return isKnown ? null : `.type must be one of ${TYPES.join(', ')}`;
}

/** A step of the walk: look at a value, or close an object or list. */
type Step = { readonly value: unknown } | { readonly end: object };

/**
 * One pass over a schema and the targets of its references. It visits every object and list once, so its work grows
 * only with the size of the schema, whatever the references are. Chains of references need no recursion.
 */
class SchemaWalk {
  #isRecursive = false;
  #hasLongReference = false;
  #characters = 0;
  /** Objects and lists that are being looked into (true) or have been (false). */
  readonly #seen = new Map<object, boolean>();
  /** A stack: the last step is the next. Steps above the end of an object or list belong to it. */
  readonly #steps: Step[] = [];

  constructor(
    private readonly root: Fields,
    private readonly budget = new SchemaBudget(),
  ) {}

  problem(mayBeRecursive: boolean): string | null {
    this.#steps.push({ value: this.root });
    for (let step = this.#steps.pop(); step !== undefined && this.#sizeProblem === null; step = this.#steps.pop()) {
      if ('value' in step) this.#visit(step.value);
      else this.#seen.set(step.end, false);
    }
    if (this.#sizeProblem !== null) return this.#sizeProblem;
    if (!this.budget.takes(this.#characters)) {
      return ` is beyond the ${LARGEST_SCHEMAS_CHARACTERS} characters that all parameters may have together`;
    }
    return this.#isRecursive && !mayBeRecursive ? ' must not refer to itself' : null;
  }

  get #sizeProblem(): string | null {
    if (this.#hasLongReference) return ` must not have a $ref of more than ${LONGEST_REFERENCE} characters`;
    if (this.#characters <= LARGEST_SCHEMA_CHARACTERS) return null;
    return ` must not be larger than ${LARGEST_SCHEMA_CHARACTERS} characters`;
  }

  #visit(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#enter(value);
    else this.#characters += typeof value === 'string' ? value.length + 2 : 1;
  }

  #enter(value: object): void {
    const isOpen = this.#seen.get(value);
    if (isOpen === true) this.#isRecursive = true;
    if (isOpen !== undefined) return;
    this.#seen.set(value, true);
    this.#characters += 1;
    this.#steps.push({ end: value });
    if (Array.isArray(value)) for (const entry of value) this.#steps.push({ value: entry });
    else for (const [name, member] of Object.entries(value)) this.#member(name, member);
  }

  #member(name: string, value: unknown): void {
    this.#characters += name.length + 3;
    this.#steps.push({ value });
    if (name === '$ref' && typeof value === 'string') this.#follow(value);
  }

  /** Only a reference inside the schema itself is followed. */
  #follow(reference: string): void {
    if (reference.length > LONGEST_REFERENCE) this.#hasLongReference = true;
    else if (reference === '#' || reference.startsWith('#/')) this.#steps.push({ value: this.#resolve(reference) });
  }

  /** Ends at the first name that is not there. */
  #resolve(reference: string): unknown {
    let value: unknown = this.root;
    for (let slash = 1; slash < reference.length && value !== undefined;) {
      const next = reference.indexOf('/', slash + 1);
      const end = next === -1 ? reference.length : next;
      const name = reference
        .slice(slash + 1, end)
        .replaceAll('~1', '/')
        .replaceAll('~0', '~');
      value = isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
      slash = end;
    }
    return value;
  }
}
