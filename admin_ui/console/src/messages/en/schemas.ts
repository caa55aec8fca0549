/** Parameters of tools, as lists and as forms. */
export const schemas = {
  noParameters: 'None',
  required: 'required',
  requiredValue: 'This is required.',
  unknown: 'There is no such parameter.',
  defaultValue: (value: string) => `Default: ${value}`,
  unset: 'Not set',
  add: 'Add',
  addTo: (name: string) => `Add: ${name}`,
  remove: 'Remove',
  removeItem: (name: string) => `Remove: ${name}`,
  notJson: 'This is not JSON yet.',
}
