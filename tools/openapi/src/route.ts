import type { ErrorCode } from '@libs/errors';

/** Facts about a route that its code does not state. */
export interface RouteDeclaration {
  readonly summary: string;
  /** Name of a type in answers.ts; null is an answer without JSON. */
  readonly answer: string | null;
  /** Media types of answers other than JSON, in addition to JSON if it exists. */
  readonly media?: readonly string[];
  /** Name of the class of the body in libs/contracts, or its schema. */
  readonly body?: string | object;
  /** Media type of the body. Default: JSON. */
  readonly bodyType?: string;
  /** What happens to fields of the body that are not declared. Default: they are refused. */
  readonly otherMembers?: 'passed' | 'ignored';
  /** Fields that are neither declared nor passed on to the provider. */
  readonly ignoredMembers?: readonly string[];
  /** Fields of the body that its class does not have, with their schemas. */
  readonly furtherMembers?: Readonly<Record<string, object>>;
  /** Schema of the body as a form with a file, if the route takes one in addition. */
  readonly form?: object;
  /** Name of the class of the query in libs/contracts, or names of text parameters with their descriptions. */
  readonly query?: string | Readonly<Record<string, string>>;
  /** A body that works against the sandbox of `npm run up`. */
  readonly example?: object;
  /** Errors in addition to those that every route has. */
  readonly errors?: readonly ErrorCode[];
  /** Set if the statuses differ from the one that the controller declares. */
  readonly statuses?: readonly number[];
  /** Shape of the errors. Default: the standard envelope. */
  readonly errorShape?: 'MessagesError' | 'OauthError' | 'page';
}

export type Routes = Readonly<Record<string, RouteDeclaration>>;
