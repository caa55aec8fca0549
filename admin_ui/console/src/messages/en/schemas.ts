/** Parameters of tools, as lists and as forms. */
export const schemas = {
  noParameters: 'None',
  required: 'required',
  defaultValue: (value: string) => `Default: ${value}`,
}
