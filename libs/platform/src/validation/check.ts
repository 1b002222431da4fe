import type { getMetadataStorage, ValidationArguments } from 'class-validator';

export type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];
export type Constraint = {
  validate(value: unknown, args: ValidationArguments): boolean | Promise<boolean>;
  defaultMessage?(args: ValidationArguments): string;
};

/** One check of a field. */
export interface Check {
  readonly metadata: Metadata;
  readonly constraint: Constraint;
  /** The name of the class, which costs more to ask for than most checks. */
  readonly targetName: string;
}
