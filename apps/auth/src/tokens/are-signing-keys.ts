import { Secret } from '@libs/contracts';
import { ValidateBy } from 'class-validator';
import { parseSigningKeys } from './signing-keys';

/** For a field of an env class whose text `parseSigningKeys` accepts. */
export function AreSigningKeys(): PropertyDecorator {
  return ValidateBy({
    name: 'areSigningKeys',
    validator: {
      validate: (value: unknown) => value instanceof Secret && problemOf(value) === null,
      defaultMessage: (args) => `$property: ${args?.value instanceof Secret ? problemOf(args.value) : 'no text'}`,
    },
  });
}

function problemOf(keys: Secret): string | null {
  try {
    parseSigningKeys(keys.reveal());
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
