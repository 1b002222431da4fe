import { getMetadataStorage, IS_OPTIONAL, IsOptional, ValidationTypes } from 'class-validator';
import type { MessageClass } from '../messages/contract';

/**
 * A field of a stored object is declared once, in the class of its settings. HTTP uses snake_case, messages and
 * entities camelCase; these functions convert one to the other, and copy only fields that the class declares.
 */
type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Rest}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Rest>}`
  : '';
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name;

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

export type InSnakeCase<T> = { [Name in keyof T as SnakeCase<Name & string>]: T[Name] };
export type InCamelCase<T> = { [Name in keyof T as CamelCase<Name & string>]: T[Name] };

/**
 * Returns a base class for an HTTP body, with the fields of a class and their rules, except fields with another
 * meaning.
 */
export function HttpFields<T extends object, Without extends keyof T & string = never>(
  Class: MessageClass<T>,
  ...without: readonly Without[]
): MessageClass<InSnakeCase<Omit<T, Without>>> {
  class Fields {}
  const kept = rulesOf(Class).filter(({ propertyName }) => !without.some((name) => name === propertyName));
  giveRules(
    Fields,
    kept.map((rule) => ({ ...rule, propertyName: snakeCase(rule.propertyName) })),
  );
  return Fields as MessageClass<InSnakeCase<Omit<T, Without>>>;
}

/** Returns a base class with the fields of two classes and their rules. */
export function BothOf<A extends object, B extends object>(
  First: MessageClass<A>,
  Second: MessageClass<B>,
): MessageClass<A & B> {
  class Both {
    constructor() {
      Object.assign(this, new First(), new Second());
    }
  }
  giveRules(Both, [...rulesOf(First), ...rulesOf(Second)]);
  return Both as MessageClass<A & B>;
}

/** Returns a base class with the fields of a class; the named fields are required. */
export function Needing<T extends object, Name extends keyof T & string>(
  Class: MessageClass<T>,
  ...names: readonly Name[]
): MessageClass<T & Required<Pick<T, Name>>> {
  class Needy {
    constructor() {
      Object.assign(this, new Class());
    }
  }
  const isLenient = ({ type, propertyName }: Rule): boolean =>
    type === ValidationTypes.CONDITIONAL_VALIDATION && names.some((name) => name === propertyName);
  giveRules(
    Needy,
    rulesOf(Class).filter((rule) => !isLenient(rule)),
  );
  return Needy as MessageClass<T & Required<Pick<T, Name>>>;
}

/** Types the fields of a class as present, for the answer of an app, which leaves none out. */
export function Complete<T extends object>(Class: MessageClass<T>): MessageClass<Required<T>> {
  return Class as MessageClass<Required<T>>;
}

/** Returns the given fields of `source` for which `Class` has rules; no others, whatever `source` contains. */
export function givenFields<T extends object>(Class: MessageClass<T>, source: Readonly<T>): T {
  const given = rulesOf(Class).map(({ propertyName }) => [propertyName, source[propertyName as keyof T]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as T;
}

/** Returns a validated body in the names of messages, without the fields that are absent. */
export function fromHttp<T extends object>(body: T): InCamelCase<T> {
  return renamed(body, (name) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
}

/**
 * Returns the fields that `Class` declares, with their HTTP names, for a view. Null replaces a missing one: an app of
 * the previous release does not know the newest fields.
 */
export function toHttp<T extends object>(
  Class: MessageClass<T>,
  record: Readonly<Required<T>>,
): InSnakeCase<Required<T>> {
  const shown = rulesOf(Class).map(({ propertyName }) => [propertyName, record[propertyName as keyof T] ?? null]);
  return renamed(Object.fromEntries(shown) as object, snakeCase);
}

type Stored<T> = { readonly [Name in keyof T]: T[Name] | (string extends T[Name] ? Date : never) };

/**
 * Returns the fields of a stored entity that the class of a record declares. Other columns, such as the hash of a
 * secret, are left out. Dates become ISO 8601 text.
 */
export function recordOf<T extends object>(Record: MessageClass<T>, entity: Stored<T>): T {
  const fields = Object.keys(new Record()).map((name) => {
    const value: unknown = entity[name as keyof T];
    return [name, value instanceof Date ? value.toISOString() : value];
  });
  return Object.fromEntries(fields) as T;
}

function rulesOf(Class: MessageClass<object>): Rule[] {
  return getMetadataStorage().getTargetValidationMetadatas(Class, '', false, false);
}

function giveRules(target: MessageClass<object>, rules: readonly Rule[]): void {
  for (const rule of rules) {
    // The condition of this rule reads the field by its original name, not by the HTTP name.
    if (rule.name === IS_OPTIONAL) IsOptional()(target.prototype as object, rule.propertyName);
    else getMetadataStorage().addValidationMetadata({ ...rule, target });
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function renamed<T extends object>(fields: object, nameOf: (name: string) => string): T {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [nameOf(name), value])) as T;
}
