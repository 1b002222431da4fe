import { Secret } from '@libs/contracts';
import { ValidateBy } from 'class-validator';
import { parseKeyRing } from './key-ring';

/** For a field of an env class whose text `parseKeyRing` accepts. */
export function IsKeyRing(): PropertyDecorator {
  return ValidateBy({
    name: 'isKeyRing',
    validator: {
      validate: (value: unknown) => value instanceof Secret && problemOf(value) === null,
      defaultMessage: (args) =>
        `$property must be a list of id:base64(32 bytes) or names of managed keys, between commas: ${args?.value instanceof Secret ? problemOf(args.value) : 'there is no text'}`,
    },
  });
}

function problemOf(ring: Secret): string | null {
  try {
    parseKeyRing(ring.reveal());
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
