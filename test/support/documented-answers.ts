import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

type Content = Readonly<Record<string, unknown>>;
interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const JSON_TYPE = 'application/json';
const ID = 'openapi.json';
const FILE = join(__dirname, '../../apps/gateway/src/openapi', ID);

/** Judges answers of the public API by its document, which is read with the first answer. */
class DocumentedAnswers {
  readonly #document = JSON.parse(readFileSync(FILE, 'utf8')) as Document;
  readonly #ajv = addFormats(new Ajv2020({ strict: false, allErrors: true })).addSchema(this.#document, ID) as Ajv2020;

  /** @throws Error naming route, status and the places in the answer that the document does not allow */
  judge(method: string, path: string, status: number, text: string, type: string): void {
    const template = this.#templateOf(path, method.toLowerCase());
    // A path that is no route is no part of the document.
    if (template === null) return;
    const problem = this.#problemOf(template, method.toLowerCase(), status, text, type);
    if (problem !== null) throw new Error(`${method} ${template} ${status}, by the OpenAPI document: ${problem}`);
  }

  #problemOf(template: string, method: string, status: number, text: string, type: string): string | null {
    const { responses } = this.#document.paths[template]![method]!;
    const named = responses[status] === undefined ? 'default' : String(status);
    if (status < 400 && named === 'default') return 'the status is not there';
    if (text === '') return null;
    if (responses[named]?.content?.[type] === undefined) return `the answer is not ${type}`;
    if (type !== JSON_TYPE) return null;
    return this.#problemOfFields(['paths', template, method, 'responses', named, 'content', JSON_TYPE, 'schema'], text);
  }

  #problemOfFields(pointer: readonly string[], text: string): string | null {
    const validate = this.#ajv.getSchema(`${ID}#/${pointer.map(escaped).join('/')}`);
    if (validate === undefined) return 'it has no schema';
    if (validate(JSON.parse(text)) === true) return null;
    return (validate.errors ?? [])
      .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
      .join('; ');
  }

  /** The path of the document; one without parameters wins. */
  #templateOf(path: string, method: string): string | null {
    const segments = path.split('?', 1)[0]!.split('/');
    const fits = (template: string): boolean => {
      const parts = template.split('/');
      return (
        parts.length === segments.length && parts.every((part, at) => part.startsWith('{') || part === segments[at])
      );
    };
    const found = Object.keys(this.#document.paths).filter(
      (template) => this.#document.paths[template]![method] !== undefined && fits(template),
    );
    return found.toSorted((a, b) => a.split('{').length - b.split('{').length)[0] ?? null;
  }
}

const escaped = (part: string): string => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

let answers: DocumentedAnswers | undefined;

/**
 * @param contentType header of the answer; only the fields of JSON are judged
 * @throws Error if an answer differs from what the OpenAPI document says
 */
export function judgeAnswer(method: string, path: string, status: number, text: string, contentType = JSON_TYPE): void {
  answers ??= new DocumentedAnswers();
  answers.judge(method, path, status, text, contentType.split(';', 1)[0]!.trim());
}
