// The registry of operators. A static OpCreator makes an operator known when its library is loaded.
#ifndef POPART_OPMANAGER_HPP
#define POPART_OPMANAGER_HPP

#include <popart/attributes.hpp>
#include <popart/op.hpp>

namespace popart {

class OpDefinition {
public:
  typedef std::vector<DataType> DataTypes;
  struct Input {
    Input(const std::string &name_, const DataTypes &types, bool constant_ = false)
        : name(name_), supportedTensors(types), constant(constant_) {}
    std::string name;
    DataTypes supportedTensors;
    bool constant;
  };
  struct Output {
    Output(const std::string &name_, const DataTypes &types) : name(name_), supportedTensors(types) {}
    std::string name;
    DataTypes supportedTensors;
  };
  struct Attribute {
    Attribute(const std::string &regex_) : supportedValuesRegex(regex_) {}
    std::string supportedValuesRegex;
  };
  typedef std::vector<Input> Inputs;
  typedef std::vector<Output> Outputs;
  typedef std::map<std::string, Attribute> Attributes;

  OpDefinition() {}
  OpDefinition(const Inputs &inputs_, const Outputs &outputs_, const Attributes &attributes_)
      : inputs(inputs_), outputs(outputs_), attributes(attributes_) {}
  Inputs inputs;
  Outputs outputs;
  Attributes attributes;
};

class OpDefinitions : public std::map<OperatorIdentifier, OpDefinition> {
public:
  using std::map<OperatorIdentifier, OpDefinition>::map;
  OpDefinitions(std::initializer_list<value_type> values) : std::map<OperatorIdentifier, OpDefinition>(values) {}
};

class OpCreatorInfo {
public:
  OpCreatorInfo(const OperatorIdentifier &opid_, const Op::Settings &settings_, const Attributes &attributes_,
                const std::vector<TensorId> &inputs, const std::vector<TensorId> &outputs)
      : opid(opid_), settings(settings_), attributes(attributes_), inputIds(inputs), outputIds(outputs) {}
  const OperatorIdentifier &opid;
  const Op::Settings &settings;
  const Attributes &attributes;
  const std::vector<TensorId> &getInputIds() const { return inputIds; }
  const std::vector<TensorId> &getOutputIds() const { return outputIds; }

private:
  std::vector<TensorId> inputIds, outputIds;
};

class OpManager {
public:
  typedef std::function<std::unique_ptr<Op>(const OpCreatorInfo &)> OpFactoryFunc;
  struct Entry {
    OperatorIdentifier opid;
    OpDefinition definition;
    OpFactoryFunc make;
  };
  static void registerOp(const OperatorIdentifier &opid, const OpDefinition &definition, OpFactoryFunc make);
  // All of them, in the order in which they were made known; a later one of the same name replaces an earlier one.
  static const std::vector<Entry> &entries();
};

template <class OP> class OpCreator {
public:
  OpCreator(const OpDefinitions &definitions, bool isPublic = true) {
    static_cast<void>(isPublic);
    add(definitions, [](const OpCreatorInfo &info) {
      return std::unique_ptr<Op>(new OP(info.opid, info.settings));
    });
  }
  OpCreator(const OpDefinitions &definitions, OpManager::OpFactoryFunc make, bool isPublic = true) {
    static_cast<void>(isPublic);
    add(definitions, make);
  }

private:
  static void add(const OpDefinitions &definitions, const OpManager::OpFactoryFunc &make) {
    for (const auto &each : definitions)
      OpManager::registerOp(each.first, each.second, make);
  }
};

} // namespace popart

#endif
