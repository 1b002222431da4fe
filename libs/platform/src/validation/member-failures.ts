import { getMetadataStorage, IS_OPTIONAL, ValidationTypes, type ValidationArguments } from 'class-validator';

/**
 * Runs the class-validator decorators of an instance, with the metadata that class-validator filters and
 * groups on every call compiled once per class. Supported: all synchronous decorators, `each`,
 * `@ValidateIf`, `@IsOptional`, `@IsDefined`, `@ValidateNested`. Groups, schemas, promises and
 * asynchronous validators are refused with a plain Error, since they are a mistake of ours.
 */
export interface MemberFailure {
  /** Where it is: `messages[3].role`. */
  readonly path: string;
  /** What is expected there, starting with the path; never holds the value. */
  readonly message: string;
  /** The member is absent. */
  readonly missing: boolean;
}

export interface CollectOptions {
  /** The walk ends when so many failures were found. */
  readonly limit: number;
  /** Members that the class does not declare are failures too. */
  readonly refuseUnknown?: boolean;
}

type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];
type Constraint = {
  validate(value: unknown, args: ValidationArguments): boolean | Promise<boolean>;
  defaultMessage?(args: ValidationArguments): string;
};

interface Check {
  readonly metadata: Metadata;
  readonly constraint: Constraint;
}

interface Member {
  readonly name: string;
  /** Most members of most requests are absent, and then there is nothing to look at. */
  readonly isOptional: boolean;
  readonly conditions: readonly ((object: object, value: unknown) => boolean)[];
  readonly checks: readonly Check[];
  readonly nested: boolean;
}

interface Plan {
  readonly members: readonly Member[];
  readonly names: ReadonlySet<string>;
}

/** A name that may be repeated to the caller: nobody's secret looks like this and it fits a log line. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,40}$/;

const plans = new WeakMap<Function, Plan>();

export function collectFailures(instance: object, options: CollectOptions): MemberFailure[] {
  const walk = new Walk(options);
  walk.visitObject(instance, '');
  return walk.failures;
}

/** The names of the members that carry at least one validator. */
export function declaredMembers(Class: Function): ReadonlySet<string> {
  return planOf(Class).names;
}

class Walk {
  readonly failures: MemberFailure[] = [];

  constructor(private readonly options: CollectOptions) {}

  visitObject(object: object, path: string): void {
    const Class = classOf(object);
    if (Class === Object) {
      this.fail(path, `${path || 'The value'} is of no known kind`, false);
      return;
    }
    const plan = planOf(Class);
    if (this.options.refuseUnknown === true) this.refuseUnknown(object, plan, path);
    for (const member of plan.members) {
      const value = (object as Record<string, unknown>)[member.name];
      if (member.isOptional && (value === undefined || value === null)) continue;
      if (this.isFull) return;
      this.visitMember(object, value, member, path);
    }
  }

  private get isFull(): boolean {
    return this.failures.length >= this.options.limit;
  }

  private visitMember(object: object, value: unknown, member: Member, parentPath: string): void {
    for (const condition of member.conditions) if (!condition(object, value)) return;
    for (const check of member.checks) {
      if (passes(object, value, check)) continue;
      const path = join(parentPath, member.name);
      this.fail(path, messageOf(object, value, check, path), value === undefined);
      return;
    }
    if (member.nested && value !== undefined) this.visitNested(value, join(parentPath, member.name));
  }

  private visitNested(value: unknown, path: string): void {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length && !this.isFull; index += 1) {
        this.visitNested(value[index], `${path}[${index}]`);
      }
    } else if (typeof value === 'object' && value !== null) {
      this.visitObject(value, path);
    } else {
      this.fail(path, `${path} must be an object`, value === undefined);
    }
  }

  private refuseUnknown(object: object, plan: Plan, parentPath: string): void {
    for (const name of Object.keys(object)) {
      if (this.isFull) return;
      if (plan.names.has(name)) continue;
      const path = PLAIN_NAME.test(name) ? join(parentPath, name) : parentPath;
      this.fail(
        path,
        path === parentPath ? `${path || 'The object'} has an unknown member` : `${path} is not known`,
        false,
      );
    }
  }

  private fail(path: string, message: string, missing: boolean): void {
    if (!this.isFull) this.failures.push({ path, message, missing });
  }
}

function join(parentPath: string, name: string): string {
  return parentPath === '' ? name : `${parentPath}.${name}`;
}

/** The class by prototype: a member of the caller's named `constructor` must not choose the validators. */
function classOf(object: object): Function {
  const prototype = Object.getPrototypeOf(object) as { constructor?: Function } | null;
  return prototype?.constructor ?? Object;
}

function planOf(Class: Function): Plan {
  let plan = plans.get(Class);
  if (!plan) {
    plan = compilePlan(Class);
    plans.set(Class, plan);
  }
  return plan;
}

function compilePlan(Class: Function): Plan {
  const byName = new Map<string, Metadata[]>();
  for (const metadata of getMetadataStorage().getTargetValidationMetadatas(Class, '', false, false)) {
    const group = byName.get(metadata.propertyName);
    if (group) group.push(metadata);
    else byName.set(metadata.propertyName, [metadata]);
  }
  const members = [...byName].map(([name, metadatas]) => compileMember(Class, name, metadatas));
  return { members, names: new Set(byName.keys()) };
}

function compileMember(Class: Function, name: string, metadatas: readonly Metadata[]): Member {
  const refuse = (what: string): never => {
    throw new Error(`${Class.name}.${name}: ${what} is not supported by validateInstance`);
  };
  if (metadatas.some(({ groups }) => groups?.length > 0)) refuse('a validation group');
  const ofType = (type: string): Metadata[] => metadatas.filter((metadata) => metadata.type === type);
  if (ofType(ValidationTypes.PROMISE_VALIDATION).length > 0) refuse('a promise');
  // Decorators run from the bottom up; the one written first is the one a reader expects to hear of.
  const custom = [...ofType(ValidationTypes.CUSTOM_VALIDATION), ...ofType(ValidationTypes.IS_DEFINED)].toReversed();
  const checks = custom.flatMap((metadata) =>
    getMetadataStorage()
      .getTargetValidatorConstraints(metadata.constraintCls)
      .map((constraint) => {
        if (constraint.async) refuse('an asynchronous validator');
        return { metadata, constraint: constraint.instance };
      }),
  );
  const conditional = ofType(ValidationTypes.CONDITIONAL_VALIDATION);
  return {
    name,
    isOptional: conditional.some((metadata) => metadata.name === IS_OPTIONAL),
    conditions: conditional
      .filter((metadata) => metadata.name !== IS_OPTIONAL)
      .map(({ constraints }) => constraints[0] as Member['conditions'][number]),
    checks,
    nested: ofType(ValidationTypes.NESTED_VALIDATION).length > 0,
  };
}

function passes(object: object, value: unknown, { metadata, constraint }: Check): boolean {
  if (metadata.validateIf && !metadata.validateIf(object, value)) return true;
  const args = argumentsOf(object, value, metadata, metadata.propertyName);
  if (metadata.each && Array.isArray(value)) {
    return value.every((item: unknown) => constraint.validate(item, args) === true);
  }
  return constraint.validate(value, args) === true;
}

function messageOf(object: object, value: unknown, { metadata, constraint }: Check, path: string): string {
  const args = argumentsOf(object, value, metadata, path);
  const template =
    typeof metadata.message === 'function'
      ? metadata.message(args)
      : metadata.message || constraint.defaultMessage?.(args) || '$property is not valid';
  const filled = args.constraints.reduce<string>(
    (text, constraintValue, index) => text.replaceAll(`$constraint${index + 1}`, () => print(constraintValue)),
    template,
  );
  return filled
    .replaceAll('$property', () => path)
    .replaceAll('$target', () => args.targetName)
    .replaceAll('$value', () => 'the value');
}

function argumentsOf(object: object, value: unknown, metadata: Metadata, property: string): ValidationArguments {
  return { targetName: classOf(object).name, property, object, value, constraints: metadata.constraints ?? [] };
}

function print(constraint: unknown): string {
  return Array.isArray(constraint) ? constraint.join(', ') : String(constraint);
}
