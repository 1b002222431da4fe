import { isPlainObject } from '../validation/well-formed';

const LARGEST_SCHEMA_CHARACTERS = 512 * 1024;
type Fields = Record<string, unknown>;

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** Checks a JSON Schema that an upstream will be asked to follow: its kind and its size. */
export function findSchemaProblem(schema: unknown): string | null {
  return findKindProblem(schema) ?? new SchemaWalk(schema as Fields).problem(true);
}

/** Checks the parameters of a function: a schema, and one that ends, since every provider must be able to unfold it. */
export function findParametersProblem(parameters: unknown): string | null {
  return findKindProblem(parameters) ?? new SchemaWalk(parameters as Fields).problem(false);
}

function findKindProblem(schema: unknown): string | null {
  if (!isPlainObject(schema)) return ' must be an object';
  const { type } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const isKnown = type === undefined || types.every((name) => TYPES.includes(name as string));
  return isKnown ? null : `.type must be one of ${TYPES.join(', ')}`;
}

/** What is left to do of a schema: look at a value, follow a reference, or end one. */
type Step = { readonly value: unknown } | { readonly follow: string } | { readonly end: string };

/** One pass over a schema that follows every reference once. References may follow one another: nothing here recurs. */
class SchemaWalk {
  #isRecursive = false;
  #characters = 0;
  /** References that are being followed (true) or have been (false). */
  readonly #references = new Map<string, boolean>([['#', true]]);
  /** The last is the next. What stands above the end of a reference belongs to it. */
  readonly #steps: Step[] = [];

  constructor(private readonly root: Fields) {}

  problem(mayBeRecursive: boolean): string | null {
    this.#steps.push({ value: this.root });
    for (let step = this.#steps.pop(); step !== undefined && !this.#isTooLarge; step = this.#steps.pop()) {
      if ('value' in step) this.#visit(step.value);
      else if ('follow' in step) this.#follow(step.follow);
      else this.#references.set(step.end, false);
    }
    if (this.#isTooLarge) return ` must not be larger than ${LARGEST_SCHEMA_CHARACTERS} characters`;
    return this.#isRecursive && !mayBeRecursive ? ' must not refer to itself' : null;
  }

  get #isTooLarge(): boolean {
    return this.#characters > LARGEST_SCHEMA_CHARACTERS;
  }

  #visit(value: unknown): void {
    this.#characters += typeof value === 'string' ? value.length + 2 : 1;
    if (Array.isArray(value)) {
      for (const entry of value) this.#steps.push({ value: entry });
    } else if (isPlainObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        this.#characters += name.length + 3;
        this.#steps.push(name === '$ref' && typeof member === 'string' ? { follow: member } : { value: member });
      }
    }
  }

  #follow(reference: string): void {
    if (!reference.startsWith('#')) return;
    const isOpen = this.#references.get(reference);
    if (isOpen === true) this.#isRecursive = true;
    if (isOpen !== undefined) return;
    this.#references.set(reference, true);
    this.#steps.push({ end: reference }, { value: this.#resolve(reference) });
  }

  #resolve(reference: string): unknown {
    let value: unknown = this.root;
    for (const step of reference.slice(2).split('/')) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      value = isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return value;
  }
}
