import 'reflect-metadata';
import { plainToInstance, TransformationType } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage';

/**
 * Converts plain JSON to instances of decorated classes, like class-transformer, but with lookups cached per class.
 * Fields without a `@Type` are shared with the plain object, not copied: a large request costs the same as a small one.
 *
 * Classes that use `@Expose` or `@Exclude` are passed to class-transformer itself.
 */
export type Constructor<T extends object = object> = new () => T;

type Convert = (value: unknown, parent: object) => unknown;
type BuildInstance = (plain: object) => object;

/** Names that would reach the prototype of the instance instead of its own field. */
const UNSAFE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const builders = new WeakMap<Function, BuildInstance>();
const leftOut = new WeakMap<object, string[]>();

export function toInstance<T extends object>(Class: Constructor<T>, plain: object): T {
  return builderOf(Class)(plain) as T;
}

/** Returns the names of fields that were not copied to the instance, because its class has something with that name. */
export function namesLeftOut(instance: object): readonly string[] {
  return leftOut.get(instance) ?? [];
}

/** Returns whether an instance differs in some field from the plain object from which it is made. */
export function makesMembers(Class: Constructor, names: Iterable<string>): boolean {
  if (usesExposure(Class) || Object.values(new Class()).some((preset) => preset !== undefined)) return true;
  return [...names].some((name) => compileConverter(Class, name) !== null);
}

function builderOf(Class: Constructor): BuildInstance {
  let builder = builders.get(Class);
  if (!builder) {
    builder = usesExposure(Class) ? (plain) => plainToInstance(Class, plain) : compileBuilder(Class);
    builders.set(Class, builder);
  }
  return builder;
}

function usesExposure(Class: Function): boolean {
  return (
    defaultMetadataStorage.getStrategy(Class) !== 'none' ||
    defaultMetadataStorage.getExposedMetadatas(Class).length > 0 ||
    defaultMetadataStorage.getExcludedMetadatas(Class).length > 0
  );
}

function compileBuilder(Class: Constructor): BuildInstance {
  const converters = new Map<string, Convert | null>();
  return (plain) => {
    const instance = new Class() as Record<string, unknown>;
    for (const name of Object.keys(plain)) {
      const value = (plain as Record<string, unknown>)[name];
      if (value === undefined) continue;
      if (UNSAFE_NAMES.has(name) || isMethod(Class, name)) {
        leaveOut(instance, name);
        continue;
      }
      const convert = converterOf(converters, Class, name);
      instance[name] = convert ? convert(value, plain) : value;
    }
    return instance;
  };
}

function leaveOut(instance: object, name: string): void {
  const names = leftOut.get(instance);
  if (names === undefined) leftOut.set(instance, [name]);
  else names.push(name);
}

/** A caller's field must not hide a method or accessor of the class. */
function isMethod(Class: Constructor, name: string): boolean {
  return name in Class.prototype;
}

/**
 * Every decorated field has a design type, so a name without one needs no conversion: a caller's invented names cost
 * one lookup and never fill the map.
 */
function converterOf(converters: Map<string, Convert | null>, Class: Constructor, name: string): Convert | null {
  const known = converters.get(name);
  if (known !== undefined) return known;
  if (Reflect.getMetadata('design:type', Class.prototype, name) === undefined) return null;
  const convert = compileConverter(Class, name);
  converters.set(name, convert);
  return convert;
}

function compileConverter(Class: Constructor, name: string): Convert | null {
  const typed = typeConverter(Class, name);
  const transforms = defaultMetadataStorage.findTransformMetadatas(Class, name, TransformationType.PLAIN_TO_CLASS);
  if (transforms.length === 0) return typed;
  return (value, parent) =>
    transforms.reduce<unknown>(
      (current, { transformFn }) =>
        transformFn({
          value: current,
          key: name,
          obj: parent,
          type: TransformationType.PLAIN_TO_CLASS,
          options: {},
        }),
      typed ? typed(value, parent) : value,
    );
}

function typeConverter(Class: Constructor, name: string): Convert | null {
  const metadata = defaultMetadataStorage.findTypeMetadata(Class, name);
  if (!metadata?.typeFunction) return null;
  const { typeFunction, options } = metadata;
  const discriminator = options?.discriminator;
  return eachItem((value, parent) => {
    const declared = typeFunction({ newObject: undefined, object: parent, property: name });
    if (!isJsonObject(value)) return convertScalar(declared, value);
    if (!discriminator) return buildAs(declared, value);
    const tag = (value as Record<string, unknown>)[discriminator.property];
    const subType = discriminator.subTypes.find((candidate) => candidate.name === tag);
    const instance = buildAs(subType?.value ?? declared, value) as Record<string, unknown>;
    if (options?.keepDiscriminatorProperty !== true && instance !== value) delete instance[discriminator.property];
    return instance;
  });
}

function eachItem(convert: Convert): Convert {
  const convertDeep: Convert = (value, parent) =>
    Array.isArray(value) ? value.map((item) => convertDeep(item, parent)) : convert(value, parent);
  return convertDeep;
}

function buildAs(type: Function, value: object): object {
  return type === Object || isScalarType(type) ? value : toInstance(type as Constructor, value);
}

function isScalarType(type: Function): boolean {
  return type === String || type === Number || type === Boolean || type === Date;
}

function convertScalar(type: Function, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (type === String) return String(value);
  if (type === Number) return Number(value);
  if (type === Boolean) return Boolean(value);
  if (type === Date) return new Date(value as string);
  return value;
}

function isJsonObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
