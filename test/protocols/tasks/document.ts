import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../../src/base/index.ts';
import type { Client } from './fixture.ts';

export interface ParameterObject {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonObject;
}

interface ResponseObject {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;
  };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

export interface OpenApiDocument extends JsonObject {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonObject>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly securitySchemes: Readonly<Record<string, JsonObject>>;
  };
}

export interface DocumentedOperation extends OperationObject {
  readonly method: string;
  readonly path: string;
}

/** The OpenAPI document of an agent, with a third-party validator. */
export class ServedDocument {
  readonly document: OpenApiDocument;
  readonly #ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    allErrors: true,
    validateFormats: false,
  });
  readonly #validators = new Map<string, ValidateFunction>();

  static async from(client: Client): Promise<ServedDocument> {
    return new ServedDocument((await client.get<OpenApiDocument>('/openapi.json')).body);
  }

  constructor(document: OpenApiDocument) {
    this.document = document;
    this.#ajv.addSchema({ $id: 'document', components: { schemas: document.components.schemas } });
  }

  get operations(): readonly DocumentedOperation[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
      })),
    );
  }

  operation(operationId: string): DocumentedOperation {
    const found = this.operations.find((one) => one.operationId === operationId);
    if (found === undefined) throw new Error(`no operation ${operationId}`);
    return found;
  }

  /** The violations of a schema in a value. */
  faults(schema: JsonObject, value: unknown): string {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components');
    const validate = this.#validators.get(text) ?? this.#ajv.compile(JSON.parse(text) as object);
    this.#validators.set(text, validate);
    return validate(value) ? '' : this.#ajv.errorsText(validate.errors);
  }

  /** The schema of a request body. */
  bodySchema({ requestBody }: OperationObject): JsonObject {
    const schema = requestBody?.content['application/json']?.schema;
    const name = schema?.$ref.split('/').at(-1) ?? '';
    const found = this.document.components.schemas[name];
    if (found === undefined) throw new Error(`no schema ${name}`);
    return found;
  }

  /** The violations of the document in a response. */
  surprises(
    operation: OperationObject,
    { status, headers }: Pick<Response, 'status' | 'headers'>,
    text: string,
  ): string {
    const listed = operation.responses[status];
    if (listed === undefined) return `${status} is not in the document: ${text}`;
    const response = '$ref' in listed ? this.#response(listed.$ref) : listed;
    if (response === undefined) return `${JSON.stringify(listed)} is not in the document`;
    if (response.content === undefined) return text === '' ? '' : `${status} has a body: ${text}`;
    const type = headers.get('content-type')?.split(';')[0] ?? '';
    const schema = response.content[type]?.schema;
    if (schema === undefined) return `${type} is not in the document for ${status}`;
    return type === 'application/json' ? this.faults(this.#closed(schema), JSON.parse(text)) : '';
  }

  #response(reference: string): ResponseObject | undefined {
    return this.document.components.responses[reference.split('/').at(-1) ?? ''];
  }

  /** The schema without additional properties: everything that is sent must be documented. */
  #closed(schema: unknown): JsonObject {
    if (typeof schema !== 'object' || schema === null) return {};
    const { $ref: name } = schema as { $ref?: unknown };
    if (typeof name === 'string')
      return this.#closed(this.document.components.schemas[name.split('/').at(-1) ?? '']);
    const { properties, items, additionalProperties, ...rest } = schema as JsonObject;
    return {
      ...rest,
      ...(items !== undefined && { items: this.#closed(items) }),
      ...(properties !== undefined && {
        properties: Object.fromEntries(
          Object.entries(properties as JsonObject).map(([key, part]) => [key, this.#closed(part)]),
        ),
      }),
      ...(rest.type === 'object' && {
        additionalProperties: additionalProperties ?? properties === undefined,
      }),
    };
  }
}
