declare module 'virtual:field-rules' {
  /** The JSON Schemas of request bodies in the OpenAPI document, by name. */
  const schemas: Record<string, unknown>;
  export default schemas;
}
