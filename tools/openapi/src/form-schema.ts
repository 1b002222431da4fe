import type { FormFieldKinds } from '@libs/inference';

const SCHEMAS: Readonly<Record<keyof FormFieldKinds, object>> = {
  texts: { type: 'string' },
  numbers: { type: 'number' },
  flags: { type: 'boolean' },
  objects: { type: 'object' },
  lists: { type: 'array', items: { type: 'string' } },
};

/**
 * Returns the schema of a form with a file.
 * @param file name of the field that holds the file
 */
export function formOf(kinds: FormFieldKinds, file: string, required: readonly string[]): object {
  const fields = Object.entries(SCHEMAS).flatMap(([kind, schema]) =>
    (kinds[kind as keyof FormFieldKinds] ?? []).map((name) => [name, schema] as const),
  );
  return {
    type: 'object',
    required,
    properties: {
      ...Object.fromEntries(fields),
      [file]: { type: 'string', contentMediaType: 'application/octet-stream' },
    },
  };
}
