import { ERROR_CODES, wireErrorType, type ErrorCode } from '@libs/errors';
import { controllerRoutes, type ControllerRoute } from './controllers';
import { INFERENCE_ROUTES } from './inference-routes';
import { MANAGEMENT_ROUTES } from './management-routes';
import type { RouteDeclaration, Routes } from './route';
import { TypeSchemas, withValidators, type Schema, type Schemas } from './schemas';
import { SIGN_IN_ROUTES } from './sign-in-routes';

const DECLARATIONS: Routes = { ...INFERENCE_ROUTES, ...MANAGEMENT_ROUTES, ...SIGN_IN_ROUTES };
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const ERROR_TYPES = [...new Set((Object.keys(ERROR_CODES) as ErrorCode[]).map(wireErrorType))].toSorted();

const ERRORS: Schemas = {
  ErrorType: { type: 'string', enum: ERROR_TYPES, description: 'What went wrong, in one word.' },
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'integer', description: 'The HTTP status.' },
          message: { type: 'string' },
          metadata: { type: 'object', properties: { error_type: ref('ErrorType') } },
          availability: { type: 'object', description: 'Why no endpoint could serve the request.' },
        },
      },
    },
  },
  MessagesError: {
    type: 'object',
    required: ['type', 'error'],
    properties: {
      type: { const: 'error' },
      error: {
        type: 'object',
        required: ['type', 'message', 'error_type'],
        properties: { type: { type: 'string' }, message: { type: 'string' }, error_type: ref('ErrorType') },
      },
      request_id: { type: ['string', 'null'] },
      metadata: { type: 'object' },
    },
  },
  OauthError: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'string',
        enum: [
          'invalid_client',
          'invalid_grant',
          'invalid_request',
          'invalid_scope',
          'server_error',
          'temporarily_unavailable',
          'unsupported_grant_type',
        ],
      },
      error_description: { type: 'string' },
    },
  },
};

/** @param root the folder of the repository, whose types are read */
export function createDocument(root: string): object {
  const routes = controllerRoutes();
  const keyOf = ({ method, path }: ControllerRoute): string => `${method} ${path}`;
  judge(routes.map(keyOf));
  const declared = Object.values(DECLARATIONS);
  const bodies = classesOf(declared);
  const answers = new Set(declared.flatMap(({ answer }) => answer ?? []));
  const typed = new TypeSchemas(root, [CONTRACTS, ANSWERS]).of([...bodies, ...answers]);
  for (const name of bodies) typed[name] = withValidators(name, typed[name] ?? missing(name));
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes.toSorted((a, b) => compare(keyOf(a), keyOf(b)))) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route, DECLARATIONS[keyOf(route)]!, typed);
  }
  const schemas = { ...reachable(paths, typed), ...ERRORS };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version: '1',
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      description: 'One HTTP API in front of many model providers. Examples run against the sandbox of `npm run up`.',
    },
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => compare(a, b))),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, or an access token for a workload.' },
        managementKey: { type: 'http', scheme: 'bearer', description: 'A management key.' },
        keyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key.' },
      },
    },
  };
}

const CONTRACTS = 'libs/contracts/src/index.ts';
const ANSWERS = 'tools/openapi/src/answers.ts';
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function judge(routes: readonly string[]): void {
  const undeclared = routes.filter((route) => DECLARATIONS[route] === undefined);
  const gone = Object.keys(DECLARATIONS).filter((route) => !routes.includes(route));
  if (undeclared.length + gone.length === 0) return;
  throw new Error(
    `Not declared in tools/openapi: ${undeclared.join(', ')}. Declared, but no route: ${gone.join(', ')}`,
  );
}

function missing(name: string): never {
  throw new Error(`There is no type ${name}`);
}

function classesOf(declarations: readonly RouteDeclaration[]): ReadonlySet<string> {
  const named = declarations.flatMap(({ body, query }) => [body, query]);
  return new Set(named.filter((name): name is string => typeof name === 'string'));
}

/** The schemas that something in `root` refers to, over any number of steps. */
function reachable(root: object, all: Schemas): Schemas {
  const found: Schemas = {};
  const visit = (part: object): void => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([\w.-]+)"/g)) {
      if (name === undefined || found[name] !== undefined || ERRORS[name] !== undefined) continue;
      found[name] = all[name] ?? missing(name);
      visit(found[name]);
    }
  };
  visit(root);
  return found;
}

function operationOf(route: ControllerRoute, declaration: RouteDeclaration, typed: Schemas): object {
  const parameters = [...pathParameters(route.path), ...queryParameters(declaration.query, typed)];
  return {
    operationId: route.name,
    summary: declaration.summary,
    tags: [tagOf(route.path)],
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters }),
    ...(declaration.body !== undefined && { requestBody: requestBodyOf(declaration) }),
    responses: { ...answersOf(route, declaration), ...errorsOf(route, declaration) },
  };
}

function tagOf(path: string): string {
  const segment = path.replace('/api/v1/', '').replace(/^\//, '').split('/')[0]!;
  const tags: Readonly<Record<string, string>> = { key: 'keys', model: 'models', '.well-known': 'oauth' };
  return tags[segment] ?? segment;
}

function securityOf({ access, takesKeyHeader }: ControllerRoute): object[] {
  if (access === 'public') return [];
  const api = [{ apiKey: [] }, ...(takesKeyHeader ? [{ keyHeader: [] }] : [])];
  if (access === 'inference') return api;
  return access === 'management' ? [{ managementKey: [] }] : [...api, { managementKey: [] }];
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(query: RouteDeclaration['query'], typed: Schemas): object[] {
  if (query === undefined) return [];
  if (typeof query !== 'string') {
    return Object.entries(query).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      schema: { type: 'string' },
    }));
  }
  const properties = typed[query]!['properties'] as Schemas;
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description !== undefined && { description }),
    schema,
  }));
}

function requestBodyOf(declaration: RouteDeclaration): object {
  const { body, bodyType = 'application/json', furtherMembers, form, example } = declaration;
  const schema = {
    ...(typeof body === 'string' ? ref(body) : (body as Schema)),
    ...(furtherMembers !== undefined && { properties: furtherMembers }),
    ...otherMembersOf(declaration),
  };
  const content = { schema, ...(example !== undefined && { example }) };
  const asForm = form === undefined ? {} : { 'multipart/form-data': { schema: form } };
  return { required: true, content: { [bodyType]: content, ...asForm } };
}

function otherMembersOf({ otherMembers, ignoredMembers = [] }: RouteDeclaration): Schema {
  if (otherMembers === undefined) return {};
  const names = ignoredMembers.map((name) => `\`${name}\``).join(', ');
  const ignored = names === '' ? '' : ` Ignored: ${names}.`;
  const description =
    otherMembers === 'passed'
      ? `The provider also gets members that are not listed.${ignored}`
      : 'Members that are not listed are ignored.';
  return { description, additionalProperties: true };
}

function answersOf(route: ControllerRoute, { answer, media = [], statuses }: RouteDeclaration): Record<string, object> {
  const types = Object.fromEntries(media.map((type) => [type, { schema: { type: 'string' } }]));
  const content = { ...(answer !== null && { 'application/json': { schema: ref(answer) } }), ...types };
  const response = { description: 'Done', ...(Object.keys(content).length > 0 && { content }) };
  return Object.fromEntries((statuses ?? [route.status]).map((status) => [String(status), response]));
}

/** Returns the errors in the declaration, those that every route of its kind has, and the rest as `default`. */
function errorsOf(route: ControllerRoute, { errors = [], errorShape }: RouteDeclaration): Record<string, object> {
  const own: readonly ErrorCode[] = route.access === 'public' ? [] : ['authentication', 'permission_denied'];
  const codes = new Set<ErrorCode>(['invalid_request', 'rate_limit_exceeded', 'server', ...own, ...errors]);
  const byStatus = Map.groupBy(codes, (code) => ERROR_CODES[code].status);
  const named = [...byStatus].map(([status, each]) => [
    String(status),
    {
      description: each.map((code) => `\`${wireErrorType(code)}\``).join(', '),
      content: errorContent(errorShape, status === ERROR_CODES.invalid_request.status),
    },
  ]);
  const content = errorContent(errorShape, true);
  return { ...Object.fromEntries(named), default: { description: 'Any other error', content } };
}

/**
 * Returns the media types and schemas of an error.
 * @param maybeEarly true if the HTTP layer may send the error before it knows which format the route needs
 */
function errorContent(shape: RouteDeclaration['errorShape'], maybeEarly: boolean): object {
  const json = { 'application/json': { schema: ref('Error') } };
  if (shape === undefined) return json;
  if (shape === 'page') return { 'text/html': { schema: { type: 'string' } }, ...(maybeEarly && json) };
  return { 'application/json': { schema: { anyOf: [ref(shape), ref('Error')] } } };
}
