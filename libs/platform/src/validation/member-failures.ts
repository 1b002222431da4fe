import { memberPath, sentValue } from '@libs/contracts';
import { getMetadataStorage, IS_OPTIONAL, ValidationTypes } from 'class-validator';
import type { Check, Metadata } from './check';
import { argumentsOf, failureMessage, NO_MEMBER } from './failure-message';
import { namesLeftOut } from './to-instance';

/**
 * Runs the class-validator decorators of an instance. The metadata, which class-validator filters and groups on every
 * call, is compiled once per class. Supported: all synchronous decorators, `each`, `@ValidateIf`, `@IsOptional`,
 * `@IsDefined`, `@ValidateNested`. Groups, schemas, promises and asynchronous validators throw a plain Error, because
 * they are programming errors.
 */
export interface MemberFailure {
  /** Path of the field: `messages[3].role`. */
  readonly path: string;
  /** What is allowed and what was sent, beginning with the path; never contains a secret. */
  readonly message: string;
  /** The member is absent. */
  readonly missing: boolean;
}

export interface CollectOptions {
  /** Validation stops after this many failures. */
  readonly limit: number;
  /** True: fields that the class does not declare are failures too. */
  readonly refuseUnknown?: boolean;
  /** True: messages do not say what was sent. */
  readonly hidesValues?: boolean;
}

interface Member {
  readonly name: string;
  /** Fast path: most fields of most requests are absent. */
  readonly isOptional: boolean;
  readonly conditions: readonly ((object: object, value: unknown) => boolean)[];
  readonly checks: readonly Check[];
  readonly nested: boolean;
}

interface Plan {
  /** In the order in which their failures are reported. */
  readonly members: readonly Member[];
  readonly byName: ReadonlyMap<string, Member>;
  /** Fields that are checked even if they are absent. */
  readonly required: readonly Member[];
}

const plans = new WeakMap<Function, Plan>();

export function collectFailures(instance: object, options: CollectOptions): MemberFailure[] {
  const walk = new Walk(options);
  walk.visitObject(instance, '');
  return walk.failures;
}

/**
 * Returns `collectFailures` for plain objects of a class, which must have no nested classes. A valid object costs no
 * more than the fields that it has; an invalid one is walked once more, to list its failures in their order.
 */
export function plainCollector(Class: Function, limit: number): (plain: object) => readonly MemberFailure[] {
  const plan = planOf(Class);
  return (plain) => {
    if (isFaultless(plain as Members, plan)) return NO_FAILURES;
    const walk = new Walk({ limit });
    walk.visitMembers(plain, plan, '');
    return walk.failures;
  };
}

const NO_FAILURES: readonly MemberFailure[] = [];

/** Returns whether fields of a class hold objects of other classes. */
export function hasNestedClasses(Class: Function): boolean {
  return planOf(Class).members.some(({ nested }) => nested);
}

/** Returns the names of the fields that have at least one validator. */
export function declaredMembers(Class: Function): ReadonlySet<string> {
  return new Set(planOf(Class).byName.keys());
}

type Members = Readonly<Record<string, unknown>>;

function isFaultless(plain: Members, { required, byName }: Plan): boolean {
  for (const member of required) if (!fits(plain, plain[member.name], member)) return false;
  for (const name of Object.keys(plain)) {
    const member = byName.get(name);
    if (member?.isOptional === true && !fits(plain, plain[name], member)) return false;
  }
  return true;
}

function fits(object: object, value: unknown, member: Member): boolean {
  return isExempt(object, value, member) || findFailing(object, value, member) === null;
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
    this.visitMembers(object, planOf(Class), path);
  }

  visitMembers(object: object, plan: Plan, path: string): void {
    if (this.options.refuseUnknown === true) this.refuseUnknown(object, plan, path);
    for (const member of plan.members) {
      const value = (object as Members)[member.name];
      if (isExempt(object, value, member)) continue;
      if (this.isFull) return;
      this.visitMember(object, value, member, path);
    }
  }

  private get isFull(): boolean {
    return this.failures.length >= this.options.limit;
  }

  private visitMember(object: object, value: unknown, member: Member, parentPath: string): void {
    const failing = findFailing(object, value, member);
    if (failing !== null) {
      const path = join(parentPath, member.name);
      const refused = { object, value, path, isShown: this.options.hidesValues !== true };
      const message = failureMessage(refused, failing, member.checks);
      this.fail(pathIn(message, path), message, value === undefined);
    } else if (member.nested && value !== undefined) {
      this.visitNested(value, join(parentPath, member.name));
    }
  }

  private visitNested(value: unknown, path: string): void {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length && !this.isFull; index += 1) {
        this.visitNested(value[index], `${path}[${index}]`);
      }
    } else if (typeof value === 'object' && value !== null) {
      this.visitObject(value, path);
    } else {
      this.fail(path, `${path} must be an object${sentValue(path, value)}`, value === undefined);
    }
  }

  private refuseUnknown(object: object, plan: Plan, parentPath: string): void {
    for (const name of [...namesLeftOut(object), ...Object.keys(object)]) {
      if (this.isFull) return;
      if (plan.byName.has(name)) continue;
      const path = memberPath(parentPath, name);
      this.fail(path, `${path}${NO_MEMBER}`, false);
    }
  }

  private fail(path: string, message: string, missing: boolean): void {
    if (!this.isFull) this.failures.push({ path, message, missing });
  }
}

/** A check of a whole object names the invalid field inside it. */
function pathIn(message: string, path: string): string {
  const isNamed = message.startsWith(path) && message.endsWith(NO_MEMBER);
  return isNamed ? message.slice(0, -NO_MEMBER.length) : path;
}

function join(parentPath: string, name: string): string {
  return parentPath === '' ? name : `${parentPath}.${name}`;
}

/** Finds the class by prototype: a caller's field named `constructor` must not choose the validators. */
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
  return {
    members,
    byName: new Map(members.map((member) => [member.name, member])),
    required: members.filter(({ isOptional }) => !isOptional),
  };
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
        return { metadata, constraint: constraint.instance, targetName: Class.name };
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

/** Returns whether the value is not checked: it is absent and optional, or a condition excludes it. */
function isExempt(object: object, value: unknown, { isOptional, conditions }: Member): boolean {
  if (isOptional && (value === undefined || value === null)) return true;
  return conditions.length > 0 && !conditions.every((condition) => condition(object, value));
}

/** The first check that the value does not pass, or null. */
function findFailing(object: object, value: unknown, { checks }: Member): Check | null {
  for (const check of checks) if (!passes(object, value, check)) return check;
  return null;
}

function passes(object: object, value: unknown, check: Check): boolean {
  const { metadata, constraint } = check;
  if (metadata.validateIf && !metadata.validateIf(object, value)) return true;
  const args = argumentsOf({ object, value }, check, metadata.propertyName);
  if (metadata.each && Array.isArray(value)) {
    return value.every((item: unknown) => constraint.validate(item, args) === true);
  }
  return constraint.validate(value, args) === true;
}
