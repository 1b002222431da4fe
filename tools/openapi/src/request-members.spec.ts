import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getMetadataStorage } from 'class-validator';
import * as contracts from '@libs/contracts';
import { transcriptionApi, videoFromOpenAi, videosApi, type FormFieldKinds } from '@libs/inference';
import { BatchHeaderReader } from '../../../apps/gateway/src/batches/batch-header';
import { INFERENCE_ROUTES } from './inference-routes';
import { MANAGEMENT_ROUTES } from './management-routes';
import { SIGN_IN_ROUTES } from './sign-in-routes';

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, object>>;
}
interface Operation {
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const FILE = join(__dirname, '../../../apps/gateway/src/openapi/openapi.json');
const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document;
const ROUTES = { ...INFERENCE_ROUTES, ...MANAGEMENT_ROUTES, ...SIGN_IN_ROUTES };
const OTHER_NAMES = ['previous_response_id', 'requests', 'plugins', 'usage', 'metadata', 'input', 'constructor'];

function schemaOf(route: string, type = 'application/json'): Schema {
  const [method = '', path = ''] = route.split(' ');
  const template = path.replaceAll(/:(\w+)/g, '{$1}');
  return document.paths[template]![method.toLowerCase()]!.requestBody.content[type]!.schema;
}

/** The fields of a body, those of the class it refers to included. */
function membersOf({ $ref, properties = {} }: Schema): string[] {
  const referred = $ref === undefined ? [] : membersOf(document.components.schemas[$ref.split('/').at(-1)!]!);
  return [...referred, ...Object.keys(properties)].toSorted();
}

function validatedMembersOf(className: string): string[] {
  const Class = (contracts as unknown as Record<string, Function>)[className]!;
  const rules = getMetadataStorage().getTargetValidationMetadatas(Class, '', false, false);
  return [...new Set(rules.map(({ propertyName }) => propertyName))].toSorted();
}

const formNames = (kinds: FormFieldKinds): string[] => Object.values(kinds).flatMap((names: string[]) => names);

describe('the request bodies of the OpenAPI document', () => {
  const withClass = Object.entries(ROUTES).flatMap(([route, { body, furtherMembers = {} }]) =>
    typeof body === 'string' ? [[route, body, Object.keys(furtherMembers)] as const] : [],
  );

  it.each(withClass)('%s has the fields that are validated', (route, className, further) => {
    expect(membersOf(schemaOf(route))).toEqual([...validatedMembersOf(className), ...further].toSorted());
  });

  it('count the tokens of everything that a message may have', () => {
    expect(membersOf(schemaOf('POST /api/v1/messages/count_tokens'))).toEqual(validatedMembersOf('MessagesDto'));
  });

  it('have every field of a batch that is read', () => {
    const documented = membersOf(schemaOf('POST /api/v1/batches'));
    const names = [...documented, ...validatedMembersOf('ChatCompletionDto'), ...OTHER_NAMES];
    /** No field may be a number, so each that is read is refused. */
    const isRead = (name: string): boolean => {
      try {
        new BatchHeaderReader().read(name, Buffer.from('7'));
        return false;
      } catch {
        return true;
      }
    };
    const read = [...new Set(names)].filter(isRead);
    expect(documented).toEqual([...read, 'requests'].toSorted());
  });

  it('have the names of OpenAI for a video', () => {
    const documented = membersOf(schemaOf('POST /api/v1/videos'));
    const { members } = videoFromOpenAi(Object.fromEntries(documented.map((name) => [name, null])));
    const renamed = documented.filter((name) => !(name in members));
    expect(documented).toEqual([...validatedMembersOf('VideoDto'), 'input_reference', 'seconds'].toSorted());
    expect(renamed).toEqual(['input_reference', 'seconds']);
  });

  it.each([
    ['POST /api/v1/audio/transcriptions', transcriptionApi.formFields, 'file'],
    ['POST /api/v1/videos', videosApi.formFields, 'input_reference'],
  ] as const)('%s has the fields of a form and its file', (route, kinds, file) => {
    expect(membersOf(schemaOf(route, 'multipart/form-data'))).toEqual([...formNames(kinds), file].toSorted());
  });

  it.each(Object.entries(ROUTES).filter(([, { otherMembers }]) => otherMembers !== undefined))(
    '%s says what becomes of other fields',
    (route, { otherMembers, ignoredMembers = [] }) => {
      const { description } = schemaOf(route);
      expect(description).toContain(otherMembers === 'passed' ? 'The provider also gets' : 'ignored');
      for (const name of ignoredMembers) expect(description).toContain(`\`${name}\``);
    },
  );
});
