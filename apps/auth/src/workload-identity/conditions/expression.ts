/** The type of an expression as far as it is known when parsed: `any` comes from claims. */
export type Kind = 'bool' | 'number' | 'text' | 'list' | 'null' | 'any';

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';
export type TextTest = 'startsWith' | 'endsWith' | 'contains';
export type TextChange = 'lowerAscii' | 'upperAscii' | 'trim';
export type Loop = 'all' | 'exists' | 'exists_one' | 'filter';

export type Expression =
  | { readonly op: 'literal'; readonly value: string | number | boolean | null }
  | { readonly op: 'list'; readonly items: readonly Expression[] }
  | { readonly op: 'claims' }
  /** The element of the enclosing loop. */
  | { readonly op: 'element' }
  | { readonly op: 'member'; readonly of: Expression; readonly name: string }
  | { readonly op: 'index'; readonly of: Expression; readonly index: Expression }
  | { readonly op: 'has'; readonly of: Expression; readonly name: string }
  | { readonly op: 'not'; readonly of: Expression }
  | { readonly op: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly op: Comparison | 'in'; readonly left: Expression; readonly right: Expression }
  | { readonly op: TextTest; readonly of: Expression; readonly search: Expression }
  | { readonly op: TextChange | 'size'; readonly of: Expression }
  | { readonly op: Loop; readonly over: Expression; readonly body: Expression };

const KINDS: Readonly<Partial<Record<Expression['op'], Kind>>> = {
  list: 'list',
  filter: 'list',
  size: 'number',
  lowerAscii: 'text',
  upperAscii: 'text',
  trim: 'text',
  claims: 'any',
  element: 'any',
  member: 'any',
  index: 'any',
};

/** Whatever is not listed is a question with yes or no. */
export function kindOf(expression: Expression): Kind {
  if (expression.op !== 'literal') return KINDS[expression.op] ?? 'bool';
  switch (typeof expression.value) {
    case 'string':
      return 'text';
    case 'number':
      return 'number';
    case 'boolean':
      return 'bool';
    default:
      return 'null';
  }
}
