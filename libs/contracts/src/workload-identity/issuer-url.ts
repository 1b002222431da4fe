import { ValidateBy, type ValidationOptions } from 'class-validator';
import { parseLink } from '../links/link-head';

const ISSUER_URL = /^https:\/\/[^\s\\?#@]+$/;

/** An issuer as OpenID Connect names it (Discovery §3): https, a host, no user, no query and no fragment. */
export function IsIssuerUrl(maxLength: number, options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isIssuerUrl',
      validator: {
        validate: (value: unknown) =>
          typeof value === 'string' && value.length <= maxLength && ISSUER_URL.test(value) && parseLink(value) !== null,
        defaultMessage: () => '$property must be an https URL without user, query and fragment',
      },
    },
    options,
  );
}
